"""Roles to escape codes: the palette, the colour mode, hyperlinks.

Pure. The only module that writes SGR and OSC 8. Every painted row closes what it opened, so no
row leaves a colour or a link to the next. Defaults of docs/config.md, "[render]".
"""

from __future__ import annotations

import colorsys
import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from efr.cli.render.spans import Line, Span, Style, safe

RESET = "\x1b[0m"
NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
LINK_SCHEMES = frozenset({"http", "https", "mailto", "file"})
_HEX_COLOR = r"#[0-9a-fA-F]{6}"
_LINK_SAFE = "%/:?#[]@!$&'()*+,;=-._~"  # the characters of RFC 3986, and its escapes


class ColorMode(Enum):
    """What the output takes: no escape code at all, attributes alone, or colours too."""

    PLAIN = "plain"
    NONE = "none"
    SIXTEEN = "sixteen"
    TRUE = "true"


class Look(NamedTuple):
    """How one role looks: a colour (slot, `#rrggbb` or None) and attributes."""

    color: int | str | None = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False


DEFAULTS: dict[str, Look] = {
    "text": Look(),
    "muted": Look(dim=True),
    "accent": Look(3),
    "heading": Look(3),
    "link": Look(4, underline=True),
    "code": Look(6),
    "success": Look(2),
    "warning": Look(3, bold=True),
    "error": Look(1),
    "quote": Look(italic=True),
    "diff.add": Look(2),
    "diff.remove": Look(1),
    "diff.hunk": Look(6),
    "syntax.keyword": Look(5),
    "syntax.string": Look(2),
    "syntax.number": Look(3),
    "syntax.comment": Look(dim=True, italic=True),
    "syntax.name": Look(4),
    "syntax.builtin": Look(6),
}


class Palette(NamedTuple):
    """Everything `paint` needs to know of the terminal and the user's colours."""

    mode: ColorMode = ColorMode.SIXTEEN
    links: bool = False
    looks: Mapping[str, Look] = DEFAULTS

    @property
    def colored(self) -> bool:
        """Whether a colour can be told from another."""
        return self.mode in {ColorMode.SIXTEEN, ColorMode.TRUE}


class BadColor(ValueError):
    """A colour of the settings that is none."""


def palette(
    mode: ColorMode, *, links: bool = False, colors: Mapping[str, int | str] | None = None
) -> Palette:
    """The palette with the user's `colors` over the defaults. Raises BadColor."""
    looks = dict(DEFAULTS)
    given = dict(colors or {})
    if "accent" in given:
        given.setdefault("heading", given["accent"])
    for role, value in given.items():
        look = looks[role]
        plain = look._replace(dim=False) if role == "muted" else look
        looks[role] = plain._replace(color=color_of(value))
    return Palette(mode, links, looks)


def color_of(value: int | str) -> int | str:
    """A colour of the settings as a slot 0 to 15 or `#rrggbb`. Raises BadColor."""
    if isinstance(value, int) or value.isdecimal():
        slot = int(value)
        if 0 <= slot <= 15:
            return slot
    elif value.removeprefix("bright-") in NAMES:
        return NAMES.index(value.removeprefix("bright-")) + 8 * value.startswith("bright-")
    elif re.fullmatch(_HEX_COLOR, value):
        return value.lower()
    raise BadColor(f"{value!r} is no colour; use #rrggbb, 0 to 15, or a name such as bright-blue")


def paint(line: Line, colors: Palette) -> str:
    """The row with its escape codes, closed at its end."""
    return "".join(_paint_span(span, colors) for span in line)


def paint_lines(lines: list[Line], colors: Palette) -> str:
    """Several rows, each with its newline."""
    return "".join(paint(line, colors) + "\n" for line in lines)


def _paint_span(span: Span, colors: Palette) -> str:
    codes = _codes(span.style, colors) if colors.mode is not ColorMode.PLAIN else ""
    shown = safe(span.text)
    text = f"\x1b[{codes}m{shown}{RESET}" if codes else shown
    if span.link and colors.links and (target := link_target(span.link)):
        return f"\x1b]8;;{target}\x1b\\{text}\x1b]8;;\x1b\\"
    return text


def link_target(link: str) -> str:
    """The percent-encoded target, or "" for a scheme that is not shown as a link."""
    from urllib.parse import quote, urlsplit

    try:
        scheme = urlsplit(link).scheme.lower()
    except ValueError:  # such as a bad IPv6 address
        return ""
    if scheme not in LINK_SCHEMES:
        return ""
    return quote(link, safe=_LINK_SAFE, errors="replace")


def _codes(style: Style, colors: Palette) -> str:
    look = colors.looks.get(style.role, DEFAULTS["text"])
    flags = (
        ("1", style.bold or look.bold),
        ("2", style.dim or look.dim),
        ("3", style.italic or look.italic),
        ("4", style.underline or look.underline),
        ("9", style.strike),
    )
    codes = [code for code, on in flags if on]
    if look.color is not None and colors.colored:
        codes.append(_color_code(look.color, colors.mode))
    return ";".join(codes)


def _color_code(color: int | str, mode: ColorMode) -> str:
    if isinstance(color, str) and mode is ColorMode.TRUE:
        red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
        return f"38;2;{red};{green};{blue}"
    slot = nearest_slot(color) if isinstance(color, str) else color
    return str(30 + slot if slot < 8 else 82 + slot)


def nearest_slot(color: str) -> int:
    """The slot of the 16 colours with the hue of `#rrggbb`; grey by brightness."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    if saturation < 0.15 or lightness < 0.08 or lightness > 0.95:
        return (0, 8, 7, 15)[min(int(lightness * 4), 3)]
    slot = (1, 3, 2, 6, 4, 5)[round(hue * 6) % 6]
    return slot + 8 if lightness > 0.6 else slot
