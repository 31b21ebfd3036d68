"""A screen snapshot as the bytes that draw it. Pure.

Drawn at once in one synchronized write (mode 2026), cut to the window. Control characters cannot
stand in a snapshot of efrd's; should one, it is shown as its picture.
"""

from __future__ import annotations

from typing import Final

from efr.text.visible import visible_text
from efr.wire import types as t

# DEC modes of what keys and the mouse send. The keypad's has escapes of its own that all know.
KEY_MODES: Final = (1, 1000, 1002, 1003, 1004, 1005, 1006, 1015, 2004)
KEYPAD: Final = 66

# From here on, as of what has more than one code point, terminals draw some characters joined or
# wider than others do: flags, skin tones, families.
_EMOJI: Final = "\U0001f000"
_BEGIN: Final = "\x1b[?2026h\x1b[?25l\x1b[m\x1b(B\x1b[4l\x1b[20l\x1b[?6l\x1b[?7l\x1b[r\x1b[H\x1b[2J"
_END: Final = "\x1b[m\x1b[?7h"
_Style = tuple[t.Color | None, t.Color | None, bool, bool, bool, bool]


def paint(shown: t.ScreenSnapshot, columns: int, rows: int) -> bytes:
    """Draws it from an unknown state, and leaves the cursor where it is there. Of a screen that is
    larger than the window the part with the cursor shows."""
    out = [_BEGIN]
    cursor = shown.cursor
    top, left = max(cursor.row - rows + 1, 0), max(cursor.col - columns + 1, 0)
    for y, row in enumerate(shown.rows[top : top + rows]):
        if cells := _part(row.cells, left, columns):
            out.append(f"\x1b[{y + 1};1H{_row(cells, columns)}")
    # All off first: to end one way of the mouse ends the others, in xterm and those like it.
    keys = [f"\x1b[?{';'.join(map(str, KEY_MODES))}l"]
    keys += [f"\x1b[?{mode}h" for mode in KEY_MODES if mode in shown.modes]
    keys.append("\x1b=" if KEYPAD in shown.modes else "\x1b>")
    place = f"\x1b[{cursor.row - top + 1};{cursor.col - left + 1}H"
    end = ("" if cursor.hidden else "\x1b[?25h") + "\x1b[?2026l"
    return "".join([*out, _END, *keys, place, end]).encode()


def _part(cells: tuple[t.Cell, ...], left: int, columns: int) -> tuple[t.Cell, ...]:
    """The cells of a row from a column on; half of a wide character becomes a blank."""
    part = cells[left : left + columns]
    if left and part and cells[left - 1].wide:
        return (t.Cell(text=""), *part[1:])
    return part


def _row(cells: tuple[t.Cell, ...], columns: int) -> str:
    out, before = [], None
    is_second = False  # half of a wide character
    is_lost = False  # terminals differ in how far the last cell moved the cursor
    for x, cell in enumerate(cells):
        if is_second:
            is_second = False
            continue
        is_second = cell.wide
        if cell.wide and x + 1 == columns:  # the window ends in its middle
            continue
        style = (cell.fg, cell.bg, cell.bold, cell.italic, cell.underline, cell.inverse)
        if style != before:
            out.append(_style(style))
            before = style
        if is_lost:
            out.append(f"\x1b[{x + 1}G")
        is_lost = len(cell.text) > 1 or cell.text >= _EMOJI
        out.append(visible_text(cell.text, keep_format=True) or " ")
    return "".join(out)


def _style(style: _Style) -> str:
    fg, bg, *flags = style
    codes = ["0", *(code for code, on in zip("1347", flags, strict=True) if on)]
    return f"\x1b[{';'.join([*codes, *_colour(fg, 30), *_colour(bg, 40)])}m"


def _colour(colour: t.Color | None, base: int) -> list[str]:
    if colour is None:
        return []
    if colour.rgb is not None:
        return [f"{base + 8};2;{';'.join(map(str, colour.rgb))}"]
    index = colour.indexed or 0
    if index < 8:
        return [str(base + index)]
    return [str(base + 52 + index)] if index < 16 else [f"{base + 8};5;{index}"]
