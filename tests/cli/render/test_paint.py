"""Roles to escape codes: colour modes, the user's colours, links."""

from __future__ import annotations

import pytest

from efr.cli.render.paint import (
    BadColor,
    ColorMode,
    Palette,
    color_of,
    link_target,
    nearest_slot,
    paint,
    palette,
)
from efr.cli.render.spans import MUTED, PLAIN, WARNING, Span, Style

RED = Style("error", bold=True)


@pytest.mark.parametrize(
    ("mode", "span", "text"),
    [
        (ColorMode.SIXTEEN, Span("x", PLAIN), "x"),
        (ColorMode.SIXTEEN, Span("x", RED), "\x1b[1;31mx\x1b[0m"),
        (ColorMode.NONE, Span("x", RED), "\x1b[1mx\x1b[0m"),
        (ColorMode.NONE, Span("x", MUTED), "\x1b[2mx\x1b[0m"),
        (ColorMode.NONE, Span("x", WARNING), "\x1b[1mx\x1b[0m"),
        (ColorMode.NONE, Span("x", Style("accent")), "x"),
        (ColorMode.SIXTEEN, Span("a\x1bb\nc", PLAIN), "a␛b c"),
    ],
)
def test_paint(mode: ColorMode, span: Span, text: str) -> None:
    assert paint((span,), Palette(mode)) == text


def test_a_link_is_closed_on_its_own_row() -> None:
    line = (Span("docs", Style("link"), "https://x.y/a b"),)

    assert paint(line, Palette(links=True)) == (
        "\x1b]8;;https://x.y/a%20b\x1b\\\x1b[4;34mdocs\x1b[0m\x1b]8;;\x1b\\"
    )
    assert paint(line, Palette()) == "\x1b[4;34mdocs\x1b[0m"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("https://x.y/ä?q=1#f", "https://x.y/%C3%A4?q=1#f"),
        ("file:///tmp/a b", "file:///tmp/a%20b"),
        ("mailto:a@b.c", "mailto:a@b.c"),
        ("javascript:alert(1)", ""),
        ("https://x/\x1b\\8;;", "https://x/%1B%5C8;;"),
        ("http://[bad", ""),
        ("/relative", ""),
    ],
)
def test_link_target(link: str, target: str) -> None:
    assert link_target(link) == target


def test_the_users_colours_win_and_heading_follows_accent() -> None:
    looks = palette(ColorMode.TRUE, colors={"accent": "#ff8800", "diff.add": 10}).looks

    assert looks["accent"].color == looks["heading"].color == "#ff8800"
    assert paint((Span("x", Style("diff.add")),), Palette(ColorMode.TRUE, looks=looks)) == (
        "\x1b[92mx\x1b[0m"
    )
    assert paint((Span("x", Style("accent")),), Palette(ColorMode.TRUE, looks=looks)) == (
        "\x1b[38;2;255;136;0mx\x1b[0m"
    )


def test_a_muted_colour_of_the_user_is_not_dimmed_too() -> None:
    assert palette(ColorMode.SIXTEEN, colors={"muted": 8}).looks["muted"].dim is False


@pytest.mark.parametrize(
    ("value", "color"),
    [(0, 0), (15, 15), ("7", 7), ("red", 1), ("bright-blue", 12), ("#AABBCC", "#aabbcc")],
)
def test_color_of(value: int | str, color: int | str) -> None:
    assert color_of(value) == color


@pytest.mark.parametrize("value", [16, -1, "16", "crimson", "#abc", "#gggggg", "bright-"])
def test_no_colour(value: int | str) -> None:
    with pytest.raises(BadColor):
        color_of(value)


@pytest.mark.parametrize(
    ("color", "slot"),
    [
        ("#ff0000", 1),
        ("#00ff00", 2),
        ("#0000ff", 4),
        ("#ffff00", 3),
        ("#00ffff", 6),
        ("#ff00ff", 5),
        ("#000000", 0),
        ("#ffffff", 15),
        ("#808080", 7),
        ("#ffaaaa", 9),
    ],
)
def test_nearest_slot_keeps_the_hue(color: str, slot: int) -> None:
    assert nearest_slot(color) == slot
