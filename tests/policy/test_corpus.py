"""The corpus end to end: the shell tool declares a line, the engine decides it."""

from __future__ import annotations

import pytest

from efr.policy.engine import Place, decide
from efr.tools.contract import Where
from efr.tools.shell import ShellTool
from tests.policy.corpus import HOME, IN_PROJECT, OUTSIDE, PROJECT, SCRATCH, Case, cases


def effect(line: str, mode: str, place: Place, shell_dir: str) -> str:
    where = Where(shell_dir, shell_dir, HOME, SCRATCH)
    return decide(ShellTool().declare({"command": line}, where), mode, "shell", place).effect


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_the_corpus(case: Case) -> None:
    effects = (
        effect(case.line, "manual", IN_PROJECT, PROJECT),
        effect(case.line, "cautious", IN_PROJECT, PROJECT),
        effect(case.line, "cautious", OUTSIDE, f"{HOME}/notes"),
    )
    assert effects == (case.manual, case.cautious_in_project, case.cautious_outside)
