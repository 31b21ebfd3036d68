"""A terminal screen for the text on it: pyte's, with what pyte 0.8.2 lacks or gets wrong.

Added: an alternate screen of its own, soft-wrap flags, rows scrolled off, SU, SD, REP, CBT, CHT and
line drawing. Changed: zero-width characters join the cell before them, overwriting half of a wide
character blanks the other half, one saved cursor as in xterm, plain text written a run at a time.
Colours and the title are kept. Used by one thread at a time; what feeds it is `feeder.py`.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

import pyte
from pyte import charsets
from pyte import modes as mo
from pyte.screens import Char, Cursor, Margins, wcwidth

from efr.shell.cells import Pens, Row, Rows

_PEN_LIMIT: Final = 64  # colours whose cells are kept; a gradient has thousands
_COLOUR_LIMIT: Final = 512  # colour changes that are kept
_CELL_LIMIT: Final = 32  # characters in one cell: more marks than that on a letter are noise
_ALTERNATE_MODES: Final = frozenset((47, 1047, 1049))
_PRIVATE: Final = {6: mo.DECOM, 7: mo.DECAWM}
_PUBLIC: Final = {4: mo.IRM, 20: mo.LNM}


class TerminalScreen(pyte.Screen):
    """The cells, the cursor and the modes. `scrolled` holds (text, wraps) of rows that left the
    top of the main screen, at most `scrollback`; `used_alternate` says a program took the other."""

    buffer: Rows  # type: ignore[assignment]

    def __init__(self, columns: int, lines: int, scrollback: int = 0) -> None:
        self.scrolled: deque[tuple[str, bool]] = deque(maxlen=scrollback)
        self.used_alternate = False
        self.unkept = 0  # of the rows that leave the top next: stale ones
        super().__init__(columns, lines)

    def reset(self) -> None:
        """As switched on (RIS)."""
        super().reset()
        self.buffer = Rows(self.lines)
        self.line_drawing = False
        self.last_drawn = ""
        self._main: tuple[Rows, Cursor, Margins | None] | None = None
        self._saved: tuple[Cursor, bool, bool, bool] | None = None
        self._pens: dict[Char, Pens] = {}
        self._colours: dict[tuple[Char, tuple[int, ...]], Char] = {}

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen shows."""
        return self._main is not None

    def texts(self, first: int, last: int) -> list[str]:
        """The rows `first` to `last` (both counted from 0, the last one included)."""
        rows = (self.buffer.get(y) for y in range(first, last + 1))
        return [row.text if row is not None else "" for row in rows]

    def main_rows(self) -> Iterable[tuple[str, bool]]:
        """(text, wraps) of every row of the main screen, the rows scrolled off first."""
        buffer = self._main[0] if self._main else self.buffer
        yield from self.scrolled
        for y in range(self.lines):
            row = buffer.get(y)
            yield (row.text, row.wraps) if row is not None else ("", False)

    def state(self) -> tuple[object, ...]:
        """Everything that can be seen or that later output depends on, to compare two screens."""
        rows = [row and (dict(row), row.wraps) for row in map(self.buffer.get, range(self.lines))]
        cursor = (self.cursor.x, self.cursor.y, self.cursor.attrs, self.cursor.hidden)
        saved = self._saved and (self._saved[0].x, self._saved[0].y, *self._saved[1:])
        return (rows, cursor, self.mode, self.margins, self.alternate, saved, self.line_drawing)

    # Writing text.

    def draw(self, data: str) -> None:
        """Writes text without control characters at the cursor."""
        self.last_drawn = data[-1:]
        if self.line_drawing:
            data = data.translate(_LINE_DRAWING)
        if mo.IRM in self.mode or mo.DECAWM not in self.mode or not data.isascii():
            self._draw_slowly(data)
            return
        pens, cursor, columns = self._pen(), self.cursor, self.columns
        at = 0
        while at < len(data):
            if cursor.x >= columns:
                self._wrap()
            row = self.buffer[cursor.y]
            part = data[at : at + columns - cursor.x]
            if row.wide:
                self._draw_slowly(part)
            else:
                end = cursor.x + len(part)
                row.update(zip(range(cursor.x, end), map(pens.__getitem__, part), strict=True))
                cursor.x = end
            at += len(part)

    def _pen(self) -> Pens:
        attrs = self.cursor.attrs
        pens = self._pens.get(attrs)
        if pens is None:
            if len(self._pens) >= _PEN_LIMIT:
                self._pens.clear()
            pens = self._pens[attrs] = Pens(attrs)
        return pens

    def _draw_slowly(self, data: str) -> None:
        cursor = self.cursor
        for char in data:
            width = wcwidth(char)
            if width <= 0:
                if width == 0:
                    self._join(char)
                continue
            if cursor.x + width > self.columns:
                if mo.DECAWM in self.mode:
                    self._wrap()
                else:
                    cursor.x = self.columns - width
            if mo.IRM in self.mode:
                self.insert_characters(width)
            row = self.buffer[cursor.y]
            if row.wide or width == 2:
                self._unpair(row, cursor.x, width)
            pens = self._pen()
            row[cursor.x] = pens[char]
            if width == 2:
                row.wide = True
                row[cursor.x + 1] = pens[""]
            cursor.x += width

    def _join(self, char: str) -> None:
        """Adds a zero-width character to the cell before the cursor; nothing stands before 0."""
        row, x = self.buffer[self.cursor.y], self.cursor.x - 1
        if x > 0 and row[x].data == "":
            x -= 1
        if x >= 0 and len(row[x].data) < _CELL_LIMIT:
            row[x] = row[x]._replace(data=row[x].data + char)

    def _unpair(self, row: Row, x: int, width: int) -> None:
        """Blanks the other halves of wide characters that `width` columns at `x` cover."""
        if x in row and row[x].data == "":
            row[x - 1] = row[x - 1]._replace(data=" ")
        after = x + width
        if after in row and row[after].data == "":
            row[after] = row[after]._replace(data=" ")

    def repeat(self, count: int | None = None) -> None:
        """REP: the last character again."""
        if self.last_drawn:
            self.draw(self.last_drawn * min(count or 1, self.columns * self.lines))

    def _wrap(self) -> None:
        self.buffer[self.cursor.y].wraps = True
        self.cursor.x = 0
        self.index()

    # Moving.

    def linefeed(self) -> None:
        """LF: the row ends here, whatever it said before."""
        self.last_drawn = ""
        row = self.buffer.get(self.cursor.y)
        if row is not None:
            row.wraps = False
        self.index()
        if mo.LNM in self.mode:
            self.cursor.x = 0

    def next_line(self) -> None:
        """NEL."""
        self.linefeed()
        self.cursor.x = 0

    def index(self) -> None:
        """IND: down, scrolling at the bottom of the region."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y == bottom:
            self._scroll_up(top, bottom, 1)
        elif self.cursor.y < self.lines - 1:
            self.cursor.y += 1

    def reverse_index(self) -> None:
        """RI: up, scrolling back at the top of the region."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if self.cursor.y == top:
            self._scroll_down(top, bottom, 1)
        elif self.cursor.y > 0:
            self.cursor.y -= 1

    def scroll_up(self, count: int | None = None) -> None:
        """SU."""
        self._scroll_up(*(self.margins or Margins(0, self.lines - 1)), count or 1)

    def scroll_down(self, count: int | None = None) -> None:
        """SD."""
        self._scroll_down(*(self.margins or Margins(0, self.lines - 1)), count or 1)

    def cursor_up(self, count: int | None = None) -> None:
        """CUU."""
        self.ensure_hbounds()
        super().cursor_up(count)

    def cursor_down(self, count: int | None = None) -> None:
        """CUD."""
        self.ensure_hbounds()
        super().cursor_down(count)

    def cursor_to_line(self, line: int | None = None) -> None:
        """VPA."""
        top = self.margins.top if self.margins and mo.DECOM in self.mode else 0
        self.ensure_hbounds()
        self.cursor.y = (line or 1) - 1 + top
        self.ensure_vbounds()

    def tab(self) -> None:
        """HT: to the next stop, or the last column."""
        stops = (x for x in range(self.cursor.x + 1, self.columns) if x in self.tabstops)
        self.cursor.x = next(stops, self.columns - 1)

    def tabs_forward(self, count: int | None = None) -> None:
        """CHT."""
        for _ in range(min(count or 1, self.columns)):
            self.tab()

    def tabs_back(self, count: int | None = None) -> None:
        """CBT."""
        for _ in range(min(count or 1, self.columns)):
            stops = (x for x in range(self.cursor.x - 1, 0, -1) if x in self.tabstops)
            self.cursor.x = next(stops, 0)

    def save_cursor(self) -> None:
        """DECSC, SCOSC."""
        origin, wrap = mo.DECOM in self.mode, mo.DECAWM in self.mode
        self._saved = (copy.copy(self.cursor), self.line_drawing, origin, wrap)

    def restore_cursor(self) -> None:
        """DECRC, SCORC: home when nothing was saved."""
        if self._saved is None:
            self.cursor.x = self.cursor.y = 0
            return
        cursor, self.line_drawing, origin, wrap = self._saved
        self.cursor = copy.copy(cursor)
        self._set(mo.DECOM, origin)
        self._set(mo.DECAWM, wrap)
        self.cursor.x = min(self.cursor.x, self.columns)
        self.cursor.y = min(self.cursor.y, self.lines - 1)

    @property
    def reported_cursor(self) -> tuple[int, int]:
        """(column, row) as a cursor report counts them, from 0."""
        top = self.margins.top if self.margins and mo.DECOM in self.mode else 0
        return min(self.cursor.x, self.columns - 1), self.cursor.y - top

    # Erasing, inserting, deleting.

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:
        """EL."""
        row, x = self.buffer[self.cursor.y], self.cursor.x
        first = 0 if how else x
        last = min(x, self.columns - 1) if how == 1 else self.columns - 1
        if how != 1:
            row.wraps = False
        self._blank(row, first, last)

    def erase_in_display(self, how: int = 0, *args: Any, **kwargs: Any) -> None:
        """ED. 3 forgets what scrolled off and leaves the screen."""
        if how == 3:
            self.scrolled.clear()
            return
        if how in (0, 1):
            self.erase_in_line(how)
        first = self.cursor.y + 1 if how == 0 else 0
        last = self.cursor.y - 1 if how == 1 else self.lines - 1
        if first > last:
            return
        self.buffer.blank(first, last)
        if self.cursor.attrs.bg != "default":
            for y in range(first, last + 1):
                self._blank(self.buffer[y], 0, self.columns - 1)

    def erase_characters(self, count: int | None = None) -> None:
        """ECH."""
        x = min(self.cursor.x, self.columns - 1)
        self._blank(self.buffer[self.cursor.y], x, min(x + (count or 1), self.columns) - 1)

    def insert_characters(self, count: int | None = None) -> None:
        """ICH."""
        row, x, n = self.buffer[self.cursor.y], self.cursor.x, count or 1
        self._refill(row, {c if c < x else c + n: cell for c, cell in row.items()})

    def delete_characters(self, count: int | None = None) -> None:
        """DCH."""
        row, x, n = self.buffer[self.cursor.y], self.cursor.x, count or 1
        kept = {c if c < x else c - n: v for c, v in row.items() if not x <= c < x + n}
        row.wraps = False
        self._refill(row, kept)

    def insert_lines(self, count: int | None = None) -> None:
        """IL."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if top <= self.cursor.y <= bottom:
            self._scroll_down(self.cursor.y, bottom, count or 1)
            self.cursor.x = 0

    def delete_lines(self, count: int | None = None) -> None:
        """DL."""
        top, bottom = self.margins or Margins(0, self.lines - 1)
        if top <= self.cursor.y <= bottom:
            self._scroll_up(self.cursor.y, bottom, count or 1, keep=False)
            self.cursor.x = 0

    # Colours and modes.

    def select_graphic_rendition(self, *attrs: int) -> None:
        """SGR. A program uses few colours, and pyte takes long for each."""
        before = (self.cursor.attrs, attrs)
        known = self._colours.get(before)
        if known is None:
            super().select_graphic_rendition(*attrs)
            if len(self._colours) >= _COLOUR_LIMIT:
                self._colours.clear()
            known = self._colours[before] = self.cursor.attrs
        self.cursor.attrs = known

    def set_modes(self, numbers: Iterable[int], on: bool, private: bool) -> None:
        """SM, RM, DECSET, DECRST: those that change what text stands where."""
        for number in numbers:
            mode = (_PRIVATE if private else _PUBLIC).get(number)
            if mode is not None:
                self._set(mode, on)
                if mode == mo.DECOM:
                    self.cursor_position()
            elif private and number in _ALTERNATE_MODES:
                self._use_alternate(on, number == 1049)
            elif private and number == 1048:
                (self.save_cursor if on else self.restore_cursor)()
            elif private and number == 25:
                self.cursor.hidden = not on

    def soft_reset(self) -> None:
        """DECSTR."""
        self.mode = {mo.DECAWM, mo.DECTCEM}
        self.margins = None
        self.line_drawing = False
        self._saved = None
        self.cursor.hidden = False
        self.select_graphic_rendition()

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Another size, as xterm does it: rows leave at the top only when the cursor would stand
        below the last one, and no line is wrapped anew."""
        lines, columns = lines or self.lines, columns or self.columns
        if self._main is not None:
            buffer, cursor, _ = self._main
            self._resize(buffer, cursor, lines, columns, keep=True)
            self._main = (buffer, cursor, None)
        self._resize(self.buffer, self.cursor, lines, columns, keep=self._main is None)
        self.margins = None
        self.tabstops = set(range(8, columns, 8))
        self.lines, self.columns = lines, columns

    def _resize(self, buffer: Rows, cursor: Cursor, lines: int, columns: int, keep: bool) -> None:
        above = max(0, cursor.y + 1 - lines)
        if above:
            self._move_up(buffer, 0, self.lines - 1, above, keep)
            cursor.y -= above
        buffer.resize(lines, columns)
        cursor.x = min(cursor.x, columns)

    def _use_alternate(self, on: bool, with_cursor: bool) -> None:
        if on and self._main is None:
            if with_cursor:
                self.save_cursor()
            self.used_alternate = True
            self._main = (self.buffer, self.cursor, self.margins)
            self.buffer = Rows(self.lines)
            self.cursor = copy.copy(self.cursor)
            self.margins = None
        elif not on and self._main is not None:
            self.buffer, cursor, self.margins = self._main
            self._main = None
            self.cursor.x, self.cursor.y = cursor.x, cursor.y
            if with_cursor:
                self.restore_cursor()

    def _set(self, mode: int, on: bool) -> None:
        (self.mode.add if on else self.mode.discard)(mode)

    # Rows.

    def _scroll_up(self, top: int, bottom: int, count: int, keep: bool = True) -> None:
        keep = keep and top == 0 and self._main is None
        self._move_up(self.buffer, top, bottom, min(count, bottom - top + 1), keep)

    def _move_up(self, buffer: Rows, top: int, bottom: int, count: int, keep: bool) -> None:
        if keep and self.scrolled.maxlen:
            kept = range(min(self.unkept, count), count)
            self.unkept -= count - len(kept)
            for row in map(buffer.get, kept):
                self.scrolled.append((row.text, row.wraps) if row is not None else ("", False))
        buffer.move_up(top, bottom, count)

    def _scroll_down(self, top: int, bottom: int, count: int) -> None:
        self.buffer.move_down(top, bottom, min(count, bottom - top + 1))

    def _blank(self, row: Row, first: int, last: int) -> None:
        """Blanks columns: gone when the background is the default one."""
        if row.wide:
            self._unpair(row, first, last - first + 1)
        for x in [x for x in row if first <= x <= last]:
            del row[x]
        if self.cursor.attrs.bg != "default":
            blank = self.cursor.attrs._replace(data=" ")
            row.update((x, blank) for x in range(first, last + 1))

    def _refill(self, row: Row, cells: dict[int, Char]) -> None:
        row.clear()
        row.update((x, cell) for x, cell in cells.items() if x < self.columns)


_LINE_DRAWING: Final = {code: ord(char) for code, char in enumerate(charsets.VT100_MAP)}
