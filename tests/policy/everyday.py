"""Everyday lines by kind, and what becomes of them: the corpus of what people really run.

`python -m tests.policy.everyday` prints the table that stands in `docs/permissions.md`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from efr.policy.engine import decide
from efr.policy.needs import Decision
from tests.policy.corpus import FOLDER, IN_PROJECT, WORDS, shell_call

_NEWLINE: Final = "⏎"


@dataclass(frozen=True)
class Everyday:
    """One line of a kind, and its effect in cautious mode inside a project."""

    kind: str
    effect: str
    line: str


def lines() -> list[Everyday]:
    """Every row; raises ValueError for one that cannot be read."""
    found: list[Everyday] = []
    kind = ""
    for row in (FOLDER / "everyday.txt").read_text().splitlines():
        if row.startswith("## "):
            kind = row[3:]
        elif row and not row.startswith("#"):
            letter, blank, line = row[0], row[1:2], row[2:]
            if letter not in WORDS or blank != " " or not kind or not line:
                raise ValueError(row)
            found.append(Everyday(kind, WORDS[letter], line.replace(_NEWLINE, "\n")))
    return found


def decided(line: str) -> Decision:
    """What cautious mode does with a line in a project."""
    return decide(shell_call(line), "cautious", "shell", IN_PROJECT)


def table() -> Iterator[str]:
    """How many lines of each kind run at once, as a table of the page."""
    yield "| kind of line | lines | run at once | ask | denied |"
    yield "| --- | --- | --- | --- | --- |"
    rows = lines()
    for kind in (*dict.fromkeys(row.kind for row in rows), None):
        own = [row.effect for row in rows if kind in (None, row.kind)]
        counts = (len(own), *(own.count(effect) for effect in ("allow", "ask", "deny")))
        name = "all" if kind is None else kind
        yield f"| {name} | {' | '.join(map(str, counts))} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join((*table(), "")))
