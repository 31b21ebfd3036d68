"""Markdown lists: an item is final once the next one begins, at whatever depth.

Pure. An item's own content (its paragraphs and code) is Markdown again and is rendered by the
function that the list is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from efr.cli.render import fence
from efr.cli.render.spans import ACCENT, EMPTY, Line, Span
from efr.cli.render.starts import Marker, marker_of, starts_block

Content = Callable[[str, int], list[Line]]  # text and columns to rows

_TASKS = ("[ ] ", "[x] ", "[X] ")
_LEAST_COLUMNS = 8  # deeper lists in a narrow terminal keep this much for their text


class _Level(NamedTuple):
    """One depth. `indent`, `content`: columns of the source; `column`: of the output."""

    indent: int
    content: int
    column: int
    ordered: bool
    number: int


class ListBlock:
    """An open list."""

    def __init__(self, columns: int, content: Content) -> None:
        self._columns = columns
        self._content = content
        self._levels: list[_Level] = []
        self._lines: list[str] = []  # of the open item, without its indent
        self._mark = ""  # of the open item; empty for text behind a nested list
        self._fence: fence.Fence | None = None
        self._gap = False  # an empty line stands between the last item and the open one

    @property
    def ends_blank(self) -> bool:
        """Whether the last line taken was empty."""
        return bool(self._lines) and not self._lines[-1]

    def takes(self, line: str) -> bool:
        if not line.strip():
            return True
        blanks = len(line) - len(line.lstrip(" "))
        if self._levels and blanks >= min(self._levels[0].content, 2):
            return True
        if self._fence is None and marker_of(line):
            return True
        return self._fence is None and not self.ends_blank and not starts_block(line)

    def add(self, line: str) -> list[Line]:
        if self._in_fence(line):
            self._take(line)
            return []
        marker = marker_of(line)
        if marker:
            rows = self._flush()
            self._enter(marker, line)
            return rows
        rows = self._leave_for(line)
        self._take(line)
        return rows

    def close(self) -> list[Line]:
        rows = self._flush()
        self._lines = []
        return rows

    def copy(self) -> ListBlock:
        ahead = ListBlock(self._columns, self._content)
        ahead._levels, ahead._lines = list(self._levels), list(self._lines)
        ahead._mark, ahead._fence, ahead._gap = self._mark, self._fence, self._gap
        return ahead

    def _in_fence(self, line: str) -> bool:
        if self._fence is None:
            return False
        blanks = len(line) - len(line.lstrip(" "))
        return not line.strip() or blanks >= self._levels[-1].content

    def _enter(self, marker: Marker, line: str) -> None:
        """Starts the item that `line` begins, at the depth of its indent."""
        while self._levels and marker.indent < self._levels[-1].indent:
            self._levels.pop()
        top = self._levels[-1] if self._levels else None
        nested = top is not None and marker.indent >= min(top.content, top.indent + 2)
        ordered = marker.number is not None
        number = marker.number or 0
        if top is not None and not nested:
            self._levels.pop()
            if ordered and top.ordered:
                number = top.number + 1
        column = self._column_below() if self._levels else 0
        self._levels.append(_Level(marker.indent, marker.content, column, ordered, number))
        text = line[marker.content :]
        self._mark = f"{number}. " if ordered else "• "
        if text.startswith(_TASKS):
            self._mark, text = text[:4], text[4:]
        self._lines = []
        self._fence = None
        self._append(text)

    def _column_below(self) -> int:
        """Where the text of the deepest open item stands in the output."""
        level = self._levels[-1]
        mark = len(f"{level.number}. ") if level.ordered else 2
        return min(level.column + mark, max(self._columns - _LEAST_COLUMNS, 0))

    def _leave_for(self, line: str) -> list[Line]:
        """Text of an outer item behind a nested list ends the nested items."""
        blanks = len(line) - len(line.lstrip(" "))
        if not line.strip() or not self.ends_blank or len(self._levels) < 2:
            return []
        if blanks >= self._levels[-1].content:
            return []
        rows = self._flush()
        while len(self._levels) > 1 and blanks < self._levels[-1].content:
            self._levels.pop()
        self._lines, self._mark, self._fence = [], "", None
        return rows

    def _take(self, line: str) -> None:
        blanks = len(line) - len(line.lstrip(" "))
        self._append(line[min(blanks, self._levels[-1].content) :])

    def _append(self, text: str) -> None:
        self._lines.append(text)
        if self._fence is not None:
            self._fence = None if self._fence.closed_by(text) else self._fence
        else:
            self._fence = fence.opening(text)

    def _flush(self) -> list[Line]:
        """The rows of the open item."""
        if not self._levels or not self._lines:
            return []
        gap, self._gap = self._gap, self.ends_blank
        column = self._levels[-1].column
        start = column + len(self._mark) if self._mark else self._column_below()
        inner = self._content("\n".join(self._lines), max(self._columns - start, 1))
        head = (Span(" " * column), Span(self._mark, ACCENT))
        rows: list[Line] = [
            (*head, *line)
            if index == 0 and self._mark
            else (Span(" " * start), *line)
            if line
            else EMPTY
            for index, line in enumerate(inner or [EMPTY])
        ]
        return [EMPTY, *rows] if gap else rows
