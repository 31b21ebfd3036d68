"""The assistant's messages of one turn, as Markdown for a terminal or raw for a pipe.

Pure. One object per turn; messages come by index and in order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from efr.cli.render.markdown import MarkdownStream, Options
from efr.cli.render.spans import Line, Span
from efr.cli.view.message import MessageText
from efr.cli.view.scroll import Blocks, Kind
from efr.text.visible import visible_text


class Writer(Protocol):
    """Where the text of one message goes."""

    def feed(self, text: str) -> list[Line]:
        """More text; returns the rows that are final."""

    def finish(self) -> list[Line]:
        """The rest; the message is over."""

    def open_lines(self) -> list[Line]:
        """What is not final yet."""

    def resize(self, columns: int) -> None:
        """Blocks that begin from now on have this width."""


class RawWriter:
    """Whole lines of the text, for a pipe: as the model wrote it, or `safe` for a terminal."""

    def __init__(self, *, safe: bool) -> None:
        self._safe = safe
        self._partial = ""

    def feed(self, text: str) -> list[Line]:
        *lines, self._partial = (self._partial + text).split("\n")
        return [self._row(line) for line in lines]

    def finish(self) -> list[Line]:
        partial, self._partial = self._partial, ""
        return [self._row(partial)] if partial else []

    def _row(self, text: str) -> Line:
        return (Span(visible_text(text, keep_format=True) if self._safe else text),)

    def open_lines(self) -> list[Line]:
        return []

    def resize(self, columns: int) -> None:
        """A pipe has no width."""


class Reply:
    """The messages so far, and the one that is being written."""

    def __init__(self, scroll: Blocks, writer: Callable[[], Writer]) -> None:
        self._scroll = scroll
        self._new_writer = writer
        self._writer: Writer | None = None
        self._message = MessageText()
        self._index = 0  # of the message being written, or the next one
        self._began = False  # a row of it was committed

    @property
    def writing(self) -> bool:
        """Whether a message is open."""
        return self._writer is not None

    def update(self, index: int, offset: int, delta: str) -> bool:
        """Text of message `index`; says whether it was new."""
        if index < self._index:
            return False
        if index > self._index:
            self._finish(index)
        fresh = self._message.take(offset, delta)
        if fresh:
            self._feed(fresh)
        return bool(fresh)

    def complete(self, index: int, text: str) -> None:
        """The whole message, which is the truth."""
        if index < self._index:
            return
        if index > self._index:
            self._finish(index)
        rest = self._message.complete(text)
        if rest is None:  # it contradicts what was shown: the truth follows as a block of its own
            self._finish(index)
            rest = text
        self._feed(rest)
        self._finish(index + 1)

    def close(self) -> None:
        """No more text comes for the open message."""
        if self._writer is not None:
            self._finish(self._index + 1)

    @property
    def runs_on(self) -> bool:
        """Whether the next rows go on with the block that was committed last."""
        return self._began and self._scroll.last is Kind.REPLY

    def open_lines(self) -> list[Line]:
        """The rows of the open block."""
        return self._writer.open_lines() if self._writer else []

    def resize(self, columns: int) -> None:
        """The terminal has a new width."""
        if self._writer is not None:
            self._writer.resize(columns)

    def _feed(self, text: str) -> None:
        if self._writer is None:
            self._writer = self._new_writer()
        self._commit(self._writer.feed(text))

    def _finish(self, next_index: int) -> None:
        if self._writer is not None:
            self._commit(self._writer.finish())
        self._writer, self._message, self._began = None, MessageText(), False
        self._index = next_index

    def _commit(self, rows: list[Line]) -> None:
        if rows:
            self._scroll.add(Kind.REPLY, rows, glued=self.runs_on)
            self._began = True


def markdown_writer(columns: Callable[[], int], *, quotes: bool) -> Callable[[], Writer]:
    """Writers that render Markdown at the width that the terminal has when a message starts."""
    return lambda: MarkdownStream(Options(columns=columns(), quotes=quotes))
