"""A screen as the protocol tells it (`screen_snapshot`): cells, colours, the cursor.

Pure; reads a screen that nobody feeds meanwhile. Rows that scrolled off are text alone, in the
default colours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from pyte.screens import Char, wcwidth

from efr.shell.cells import Row
from efr.shell.screen import TerminalScreen
from efr.wire import types as t

# What pyte calls the colours 0 to 7, and 8 to 15. The last but two of the bright ones is its own
# spelling of a bright magenta background.
_NAMES: Final = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
_INDEXED: Final = {
    **{name: index for index, name in enumerate(_NAMES)},
    **{f"bright{name}": index + 8 for index, name in enumerate(_NAMES)},
    "bfightmagenta": 13,
}
# What a client must know to send the right keys: cursor keys, keypad, mouse, focus, paste.
KEY_MODES: Final = frozenset((1, 66, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004))
_BLANK: Final = t.Cell(text="")
_MOST_ABOVE: Final = 250_000  # cells above the screen: 3 MB of a frame that holds 16
_KNOWN_CELLS: Final = 4096  # different cells kept: a screen has a few hundred


def snapshot(
    screen: TerminalScreen, scrollback_rows: int, modes: Collection[int]
) -> t.ScreenSnapshot:
    """The whole screen, and at most `scrollback_rows` of what scrolled off the main one. `modes`
    are the DEC modes that are set."""
    rows = map(screen.buffer.get, range(screen.lines))
    return t.ScreenSnapshot(
        size=t.Size(cols=screen.columns, rows=screen.lines),
        cursor=t.CursorPos(
            row=screen.cursor.y,
            col=min(screen.cursor.x, screen.columns - 1),
            hidden=screen.cursor.hidden,
        ),
        rows=tuple(_row(row) for row in rows),
        scrollback=_above(screen.scrolled, scrollback_rows),
        title=screen.title or None,
        alternate_screen=screen.alternate,
        modes=tuple(sorted(KEY_MODES.intersection(modes))),
    )


def _row(row: Row | None) -> t.RowCells:
    if not row:
        return t.RowCells(cells=())
    cells = [_cell(row[x], x + 1 in row and row[x + 1].data == "") for x in range(max(row) + 1)]
    while cells and cells[-1] == _BLANK and not (len(cells) > 1 and cells[-2].wide):
        cells.pop()
    return t.RowCells(cells=tuple(cells), wrapped=row.wraps)


def _above(scrolled: Sequence[tuple[str, bool]], most_rows: int) -> tuple[t.RowCells, ...]:
    """The newest rows, oldest first."""
    found: list[t.RowCells] = []
    room = _MOST_ABOVE
    for text, wraps in islice(reversed(scrolled), most_rows):
        room -= len(text)
        if room < 0:
            break
        found.append(_scrolled(text, wraps))
    return tuple(reversed(found))


def _scrolled(text: str, wraps: bool) -> t.RowCells:
    return t.RowCells(cells=tuple(_text_cells(text)), wrapped=wraps)


def _text_cells(text: str) -> Iterable[t.Cell]:
    found: list[t.Cell] = []
    for char in text:
        width = wcwidth(char)
        if width <= 0 and found:  # it joins the character before it
            at = -2 if found[-1] == _BLANK and len(found) > 1 and found[-2].wide else -1
            found[at] = t.Cell(text=found[at].text + char, wide=found[at].wide)
        elif width == 2:
            found += [t.Cell(text=char, wide=True), _BLANK]
        else:
            found.append(_BLANK if char == " " else t.Cell(text=char))
    return found


@lru_cache(_KNOWN_CELLS)
def _cell(char: Char, wide: bool) -> t.Cell:
    return t.Cell(
        text="" if char.data == " " else char.data,
        fg=_colour(char.fg),
        bg=_colour(char.bg),
        bold=char.bold,
        italic=char.italics,
        underline=char.underscore,
        inverse=char.reverse,
        wide=wide,
    )


def _colour(name: str) -> t.Color | None:
    """One of pyte's colours: a name, or six hex digits of one of the 256 or of an own one."""
    if name == "default":
        return None
    if (index := _INDEXED.get(name)) is not None:
        return t.Color(indexed=index)
    red, green, blue = bytes.fromhex(name)
    return t.Color(rgb=(red, green, blue))
