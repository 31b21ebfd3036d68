"""How many columns text takes, and where it has to be cut. Widths by code point (wcwidth).

Pure. The tables of wcwidth cost as much to load as the rest of the view, so they load with the
first text that needs them: efr's own signs and Western letters do not. Text has passed
`efr.text.visible` before: no control character is left in it.
"""

from __future__ import annotations

from functools import lru_cache

ELLIPSIS = "…"
# One column each; a test compares with wcwidth.
_NARROW = frozenset("…·✓✗○↪↳↩›│╭╰─•⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏−→")
_FIRST_LETTER, _LAST_LETTER = "\u00c0", "\u02ff"  # Latin letters with signs: none combines


@lru_cache(maxsize=4096)
def _char_cells(char: str) -> int:
    if char in _NARROW or _FIRST_LETTER <= char <= _LAST_LETTER:
        return 1
    from wcwidth import wcwidth

    return max(wcwidth(char), 0)


def cells(text: str) -> int:
    """Columns of `text` on one row."""
    if text.isascii():
        return len(text)
    return sum(1 if char.isascii() else _char_cells(char) for char in text)


def split_at(text: str, columns: int) -> tuple[str, str]:
    """The longest start of `text` that fits in `columns`, and the rest. Splits no character."""
    if text.isascii():
        return text[: max(columns, 0)], text[max(columns, 0) :]
    used = 0
    for index, char in enumerate(text):
        used += 1 if char.isascii() else _char_cells(char)
        if used > columns:
            return text[:index], text[index:]
    return text, ""


def cut(text: str, columns: int) -> str:
    """`text` on at most `columns` columns; what does not fit becomes `…`."""
    if cells(text) <= columns:
        return text
    if columns <= 0:
        return ""
    return split_at(text, columns - 1)[0] + ELLIPSIS


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """`text` with blanks up to `columns` columns; `right`: the blanks come first."""
    blanks = " " * max(columns - cells(text), 0)
    return blanks + text if right else text + blanks
