"""Files that a person broke: read or refused with a place, edited or left alone, never a crash."""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable

import pytest

from efr.config.declared import declared
from efr.config.edit import with_key, with_rule, without_key
from efr.config.errors import ConfigError
from efr.config.example import example
from efr.config.load import read

ROUNDS = 60  # of each seed; more were run when this was written, and found two faults
WHOLE = re.sub(r"(?m)^#(?![: ])(?=.)", "", example()).splitlines(keepends=True)
RULE_LINE = re.compile(r"\[\[perm|action|resource|effect|matches")
VALUES = ["-1", '"x"', "true", "[]", '[1,"a"]', "{a=1}", "1.5", '"""m\nn"""', "[ # c\n {},\n]"]
KEYS = [*declared(), "x", "shell", "a.b", '"ü"', "permissions.rules", "openai.models"]
Change = Callable[[random.Random, list[str]], None]


def pair(dice: random.Random, lines: list[str]) -> None:
    place = dice.randrange(len(lines) + 1)
    lines.insert(place, f"{dice.choice(KEYS)} = {dice.choice(VALUES)}\n")


def header(dice: random.Random, lines: list[str]) -> None:
    form = dice.choice(["[{}]\n", "[[{}]]\n"])
    lines.insert(dice.randrange(len(lines) + 1), form.format(dice.choice(KEYS)))


def typo(dice: random.Random, lines: list[str]) -> None:
    place = dice.randrange(len(lines))
    line = lines[place]
    at = dice.randrange(len(line) + 1)
    lines[place] = line[:at] + dice.choice("\"'[]{}=,.# \n\\ü\r") + line[at:]


def shuffle(dice: random.Random, lines: list[str]) -> None:
    dice.shuffle(lines)


def windows(dice: random.Random, lines: list[str]) -> None:
    lines[:] = [line.replace("\n", "\r\n") for line in lines]


CHANGES: tuple[Change, ...] = (pair, pair, header, typo, typo, shuffle, windows)


def broken(dice: random.Random) -> str:
    kept = dice.choice([0.3, 0.9, 1.0])
    rules = dice.random() < 0.4
    lines = [
        line for line in WHOLE if dice.random() < kept and (rules or not RULE_LINE.match(line))
    ]
    for change in dice.choices(CHANGES, k=dice.randrange(4)):
        change(dice, lines)
    return "".join(lines)


def error_of(text: str) -> ConfigError | None:
    try:
        read(text.encode())
    except ConfigError as exc:
        return exc
    return None


@pytest.mark.parametrize("seed", [1, 2])
def test_a_file_is_read_or_refused_with_a_place(seed: int) -> None:
    dice = random.Random(seed)
    good = 0
    for _ in range(ROUNDS):
        text = broken(dice)
        error = error_of(text)
        if error is None:
            good += 1
            continue
        assert error.message
        assert error.line is not None, text
        assert 1 <= error.line <= text.count("\n") + 1
    assert 0 < good < ROUNDS


def test_an_edit_does_what_it_says_or_nothing() -> None:
    dice = random.Random(3)
    done = 0
    for _ in range(ROUNDS):
        text = broken(dice)
        try:
            tomllib.loads(text)
            after = with_key(text, "undo.enabled", False)
            assert tomllib.loads(after)["undo"]["enabled"] is False
            back = without_key(after, "undo.enabled")
            assert back is not None
            assert "enabled" not in tomllib.loads(back).get("undo", {})
            with_rule(text, {"action": "any", "resource": "any", "effect": "ask"})
            done += 1
        except (tomllib.TOMLDecodeError, ConfigError):
            continue
    assert done > ROUNDS // 4
