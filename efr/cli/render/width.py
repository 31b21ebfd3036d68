"""How many columns text takes, and where it has to be cut.

Terminals differ in what they make of joined characters (flags, families, skin tones, keycaps): most
count the code points, a few the character that a person sees. Widths are by code point (wcwidth),
and by whole character where `by_character` found a terminal that does so. No cut splits one.

Pure but for that choice, which is made once. The tables of wcwidth cost as much to load as the rest
of the view, so they load with the first text that needs them: efr's own signs and Western letters
do not. Text has passed `efr.text.visible` before: no control character is left in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


class _Terminal:
    """The one that is drawn on."""

    counts_characters = False


def by_character(env: Mapping[str, str]) -> None:
    """Takes the widths of this terminal: Ghostty's own, when nothing stands in between."""
    from efr.cli.render.progress import in_multiplexer

    is_known = env.get("TERM_PROGRAM", "").lower() == "ghostty"
    _Terminal.counts_characters = is_known and not in_multiplexer(env)


def cells(text: str) -> int:
    """Columns of `text` on one row."""
    if text.isascii():
        return len(text)
    if _Terminal.counts_characters:
        from wcwidth import wcswidth

        return max(wcswidth(text), 0)
    return sum(1 if char.isascii() else _char_cells(char) for char in text)


def characters(text: str) -> Iterator[str]:
    """What a person sees as one character each (UAX 29)."""
    if text.isascii():
        return iter(text)
    from wcwidth import iter_graphemes

    return iter_graphemes(text)


def before(text: str, at: int) -> int:
    """Where the character begins that ends at `at`, or that `at` is inside of."""
    if at <= 0 or text[at - 1].isascii():
        return max(at - 1, 0)
    from wcwidth import grapheme_boundary_before

    return grapheme_boundary_before(text, at)


def split_at(text: str, columns: int) -> tuple[str, str]:
    """The longest start of `text` that fits in `columns`, and the rest. Splits a character only
    when it would be wider than that alone."""
    if text.isascii():
        return text[: max(columns, 0)], text[max(columns, 0) :]
    used = at = 0
    if _Terminal.counts_characters:
        for part in characters(text):
            used += cells(part)
            if used > columns:
                return text[:at], text[at:]
            at += len(part)
        return text, ""
    for index, char in enumerate(text):
        used += 1 if char.isascii() else _char_cells(char)
        if used > columns:
            at = before(text, index + 1) or index
            return text[:at], text[at:]
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
