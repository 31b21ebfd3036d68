"""The two zones of the terminal: text above that stays, and a live zone below that is redrawn.

Owns the escape codes that move the cursor, and what the terminal shows of the live zone. One
write a frame, inside synchronized output (mode 2026), so no half frame is seen. Asks the terminal
nothing and uses the normal screen alone. The terminal turns a newline into both movements (OPOST
stays on).
"""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct

from efr.cli.render.paint import Palette, paint
from efr.cli.render.spans import Line, width

_SYNC_ON, _SYNC_OFF = "\x1b[?2026h", "\x1b[?2026l"
# Live rows must stay one row each, also where a terminal draws a character wider than we count.
_WRAP_OFF, _WRAP_ON = "\x1b[?7l", "\x1b[?7h"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_ERASE_BELOW = "\x1b[J"
_ERASE_ROW = "\x1b[K"
_PASTE_ON, _PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"


class Size(Struct, frozen=True):
    """Columns and rows of the terminal."""

    columns: int
    rows: int


DEFAULT_SIZE = Size(80, 24)


class Cursor(Struct, frozen=True):
    """Where the cursor stands in the live zone: a row of it, and a column."""

    row: int
    column: int


class Screen:
    """The writer of one terminal. `write` takes all of the text or raises OSError."""

    def __init__(
        self, write: Callable[[str], None], size: Callable[[], Size], colors: Palette
    ) -> None:
        self._write = write
        self._size = size
        self._colors = colors
        self._live: list[Line] = []  # as drawn, from top to bottom
        self._cursor_row = 0  # where the cursor was left, in rows of `_live`
        self._cursor_column: int | None = None  # None: behind the row's last character
        self._shown = True  # the cursor
        self._paste = False  # bracketed paste, on while there is a place to type

    @property
    def size(self) -> Size:
        """The terminal's size now."""
        return self._size()

    def draw(self, committed: list[Line], live: list[Line], cursor: Cursor | None = None) -> None:
        """Writes final rows and a new live zone below them.

        Live rows above the screen's height less one are left out. `cursor` None hides it.
        """
        if not committed and live == self._live and cursor is None and not self._shown:
            return
        kept = live[-max(self.size.rows - 1, 1) :]
        text = [_SYNC_ON, self._to_start(), _ERASE_BELOW]
        text += [paint(line, self._colors) + "\n" for line in committed]
        if kept:
            rows = "\n".join(paint(line, self._colors) for line in kept)
            text.append(f"{_WRAP_OFF}{rows}{_WRAP_ON}")
        self._live = kept
        self._cursor_row = max(len(kept) - 1, 0)
        text.append(self._place(cursor))
        text.append(_SYNC_OFF)
        self._write("".join(text))

    def draw_last(self, line: Line) -> None:
        """Writes the last row of the live zone again, and nothing else."""
        if not self._live or self._cursor_column is not None or self._wrapped():
            self.draw([], [*self._live[:-1], line])
            return
        if line != self._live[-1]:
            self._live[-1] = line
            painted = paint(line, self._colors)
            self._write(f"{_SYNC_ON}\r{_ERASE_ROW}{_WRAP_OFF}{painted}{_WRAP_ON}{_SYNC_OFF}")

    def erase(self) -> None:
        """Takes the live zone away and shows the cursor at the start of its first row."""
        text = self._to_start() + _ERASE_BELOW if self._live else ""
        text += "" if self._shown else _SHOW
        text += _PASTE_OFF if self._paste else ""
        self._live, self._cursor_row, self._shown, self._paste = [], 0, True, False
        if text:
            self._write(text)

    def tell(self, text: str) -> None:
        """Writes a sequence that moves nothing and prints nothing."""
        self._write(text)

    def _to_start(self) -> str:
        """To the first column of the live zone's first row, as the terminal has it now."""
        if not self._live:
            return ""
        columns = self.size.columns
        above = sum(_height(line, columns) for line in self._live[: self._cursor_row])
        if self._cursor_column is None:
            inside = _height(self._live[self._cursor_row], columns) - 1
        else:
            inside = self._cursor_column // max(columns, 1)
        up = above + inside
        return "\r" + (f"\x1b[{up}A" if up else "")

    def _wrapped(self) -> bool:
        """Whether a row takes more than one since the terminal became narrower."""
        columns = self.size.columns
        return any(_height(line, columns) > 1 for line in self._live)

    def _place(self, cursor: Cursor | None) -> str:
        if cursor is None:
            hide = "" if not self._shown else _HIDE
            self._shown = False
            self._cursor_column = None
            return hide
        up = len(self._live) - 1 - cursor.row
        self._cursor_row, self._cursor_column = cursor.row, cursor.column
        show = "" if self._shown else _SHOW
        show += "" if self._paste else _PASTE_ON
        self._shown = self._paste = True
        right = f"\x1b[{cursor.column}C" if cursor.column else ""
        return "\r" + (f"\x1b[{up}A" if up else "") + right + show


def _height(line: Line, columns: int) -> int:
    """Rows that a line takes at this width."""
    return max(-(-width(line) // max(columns, 1)), 1)


def writer(descriptor: int) -> Callable[[str], None]:
    """Writes whole texts to a descriptor, however often the kernel takes a part only."""

    def write(text: str) -> None:
        data = memoryview(text.encode("utf-8", "replace"))
        while data:
            data = data[os.write(descriptor, data) :]

    return write


def size_of(descriptor: int) -> Callable[[], Size]:
    """Asks the terminal at each call; one without a size counts as DEFAULT_SIZE."""

    def size() -> Size:
        try:
            columns, rows = os.get_terminal_size(descriptor)
        except OSError:
            return DEFAULT_SIZE
        return Size(columns or DEFAULT_SIZE.columns, rows or DEFAULT_SIZE.rows)

    return size
