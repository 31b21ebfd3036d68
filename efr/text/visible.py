"""Text from outside, made safe for a terminal: nothing in it can move a cursor or hide.

Pure. Control characters become their pictures, format characters (direction marks, zero-width
signs) and lone surrogates become U+FFFD. A zero-width joiner between two emoji stays: it makes one
sign of them and can hide nothing (Unicode TR 51, emoji ZWJ sequences). Sources: Unicode categories
Cc, Cf and Cs; the block "Control Pictures" (U+2400). What Python calls printable has none of them.
"""

from __future__ import annotations

import re
from typing import Final

_REPLACEMENT: Final = "\ufffd"

# Category Cf of Unicode 14, the tables of Python 3.11; a test compares.
FORMAT_RANGES: Final[tuple[tuple[int, int], ...]] = (
    (0x00AD, 0x00AD),
    (0x0600, 0x0605),
    (0x061C, 0x061C),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x2064),
    (0x2066, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x13438),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0001, 0xE0001),
    (0xE0020, 0xE007F),
)


def _character_class(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in ranges)


_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_EMOJI = "[\u2194-\u21ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]"
# All but a joiner with an emoji (which may have a variation selector) before it and one behind it.
_FORMAT = (
    f"[{_character_class((*FORMAT_RANGES, (0xD800, 0xDFFF)))}]"
    f"(?:(?<!\u200d)|(?!{_EMOJI})|(?<!{_EMOJI}\u200d)(?<!{_EMOJI}\ufe0f\u200d))"
)
_SURROGATE = "[\ud800-\udfff]"
_BLANKS = "\r\n|[\n\t\u2028\u2029]"  # what a one-line place shows as one blank
_LINES = "\r\n|[\u2028\u2029]"


def visible_line(text: str) -> str:
    """For a one-line place: line ends and tabs become blanks, the rest as `visible_text`."""
    if text.isprintable():
        return text
    return re.sub(_FORMAT, _REPLACEMENT, re.sub(_CONTROL, _picture, re.sub(_BLANKS, " ", text)))


def visible_text(text: str, *, keep_format: bool = False) -> str:
    """For a place of several lines: newlines and tabs stay. `keep_format`: a model's Markdown."""
    if text.isprintable():
        return text
    shown = re.sub(_CONTROL, _picture_of_inner, re.sub(_LINES, "\n", text))
    return re.sub(_SURROGATE if keep_format else _FORMAT, _REPLACEMENT, shown)


def _picture(match: re.Match[str]) -> str:
    """The picture of a control character; the C1 controls (U+0080 to U+009F) have none."""
    code = ord(match[0])
    if code == 0x7F:
        return "\u2421"
    return chr(0x2400 + code) if code < 0x20 else _REPLACEMENT


def _picture_of_inner(match: re.Match[str]) -> str:
    return match[0] if match[0] in "\n\t" else _picture(match)
