"""The corpus end to end: the shell tool declares a line, the engine decides it in every column."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from efr.policy.engine import Rules, decide
from efr.policy.envelope import envelope
from efr.policy.exits.predict import exits_of
from efr.policy.needs import Place
from tests.policy.corpus import (
    IN_PROJECT,
    NOTES,
    OUTSIDE,
    PROJECT,
    SANDBOX,
    Case,
    allow_list,
    cases,
    shell_call,
)

IN_SANDBOX = replace(IN_PROJECT, sandbox=SANDBOX)
OUTSIDE_SANDBOX = replace(OUTSIDE, sandbox=SANDBOX)
LISTED = Rules(allow_list())
# Mode, place, directory and rules of the seven columns.
COLUMNS = (
    ("manual", IN_PROJECT, PROJECT, Rules()),
    ("cautious", IN_PROJECT, PROJECT, Rules()),
    ("cautious", OUTSIDE, NOTES, Rules()),
    ("cautious", IN_PROJECT, PROJECT, LISTED),
    ("cautious", OUTSIDE, NOTES, LISTED),
    ("auto", IN_SANDBOX, PROJECT, Rules()),
    ("auto", OUTSIDE_SANDBOX, NOTES, Rules()),
)
CASES = cases()


def exits(line: str, place: Place, directory: str) -> tuple[bool, set[str]]:
    """Whether only the user may approve one, and the kinds."""
    around = envelope(place)
    assert around is not None
    found = exits_of(shell_call(line, directory), around, SANDBOX)
    return any(one.user_only for one in found), {one.kind for one in found}


def wanted(exits: str) -> tuple[bool, set[str]]:
    return exits.startswith("!"), set(exits.removeprefix("!").split(",")) - {"-"}


def test_every_row_is_there() -> None:
    assert len(CASES) >= 376
    assert len({case.id for case in CASES}) == len(CASES)
    assert len(LISTED.user) == 112


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_seven_columns_and_the_exits(case: Case) -> None:
    for column, (mode, place, directory, rules) in enumerate(COLUMNS):
        decision = decide(shell_call(case.line, directory), mode, "shell", place, rules)
        assert (column + 1, decision.effect) == (column + 1, case.effect(column)), decision
    assert exits(case.line, IN_SANDBOX, PROJECT) == wanted(case.exits[0])
    assert exits(case.line, OUTSIDE_SANDBOX, NOTES) == wanted(case.exits[1])
