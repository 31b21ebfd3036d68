"""The committed rows of a reply, with the empty rows that set two blocks apart.

Pure. No empty row stands within a block, in a run of notes, or before a glued block: the answer
to a question, and the call that an answer allowed.
"""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from efr.cli.render.spans import EMPTY, Line


class Kind(Enum):
    """What a block of rows is."""

    NOTE = "note"
    REPLY = "reply"
    CALL = "call"
    QUESTION = "question"
    ANSWER = "answer"
    STEER = "steer"
    END = "end"


class Blocks(Protocol):
    """Where the rows of a reply go."""

    def add(self, kind: Kind, rows: list[Line], *, glued: bool = False) -> None:
        """Appends the rows of a block. `glued`: nothing sets it apart from the one before."""

    @property
    def last(self) -> Kind | None:
        """The kind of the newest block."""


class Scroll:
    """Rows that wait to be written, and what was written last."""

    def __init__(self) -> None:
        self._rows: list[Line] = []
        self._last: Kind | None = None

    def add(self, kind: Kind, rows: list[Line], *, glued: bool = False) -> None:
        """Appends rows; an empty row comes before them unless they go on with the last block."""
        if not rows:
            return
        runs_on = glued or (kind is Kind.NOTE and self._last is Kind.NOTE)
        if self._last is not None and not runs_on:
            self._rows.append(EMPTY)
        self._rows.extend(rows)
        self._last = kind

    def take(self) -> list[Line]:
        """The rows since the last call."""
        rows, self._rows = self._rows, []
        return rows

    @property
    def last(self) -> Kind | None:
        """The kind of the newest block."""
        return self._last
