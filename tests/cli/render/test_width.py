"""Widths of text, and where it is cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from efr.cli.render.width import by_character, cells, characters, cut, pad, split_at

# What the widths were compared with: xterm and tmux 3.3 count code points (tmux joins at U+200D);
# Ghostty, kitty and WezTerm count characters.
WIDTHS = [  # text, columns by code point, columns by character
    ("ab", 2, 2),
    ("é", 1, 1),
    ("e\u0301", 1, 1),
    ("漢", 2, 2),
    ("\u1112\u1161\u11ab", 2, 2),  # a Korean syllable in its letters
    ("☺", 1, 1),
    ("⌚", 2, 2),
    ("❤\ufe0f", 1, 2),
    ("1\ufe0f\u20e3", 1, 2),
    ("👍🏽", 4, 2),
    ("🇩🇪", 4, 2),
    ("👩\u200d👧", 4, 2),
    ("👨\u200d👩\u200d👧\u200d👦", 8, 2),
    ("🧑🏽\u200d💻", 6, 2),
    ("🏳\ufe0f\u200d🌈", 3, 2),
]


@pytest.fixture(name="ghostty")
def _ghostty() -> Iterator[None]:
    by_character({"TERM_PROGRAM": "ghostty", "TERM": "xterm-ghostty"})
    yield
    by_character({})


@pytest.mark.parametrize(("text", "by_code_point", "_"), WIDTHS)
def test_most_terminals_count_code_points(text: str, by_code_point: int, _: int) -> None:
    assert cells(text) == by_code_point


@pytest.mark.parametrize(("text", "_", "columns"), WIDTHS)
@pytest.mark.usefixtures("ghostty")
def test_ghostty_counts_characters(text: str, _: int, columns: int) -> None:
    assert cells(text) == columns
    assert cells(f"a{text}b") == columns + 2
    assert pad(text, 9) == text + " " * (9 - columns)
    assert split_at(f"{text}x", columns) == (text, "x")


@pytest.mark.parametrize("between", [{"TMUX": "x"}, {"STY": "x"}, {"ZELLIJ": "0"}])
def test_something_in_between_counts_code_points(between: dict[str, str]) -> None:
    by_character({"TERM_PROGRAM": "ghostty", **between})
    assert cells("👍🏽") == 4
    by_character({"TERM_PROGRAM": "ghostty", "TERM": "tmux-256color"})
    assert cells("👍🏽") == 4


@pytest.mark.parametrize("text", [row[0] for row in WIDTHS if not row[0].isascii()])
def test_no_cut_splits_a_character(text: str) -> None:
    whole = f"x{text}{text}y"
    borders = {0, 1, 1 + len(text), 1 + 2 * len(text), 2 + 2 * len(text)}
    assert list(characters(whole)) == ["x", text, text, "y"]
    for columns in range(1, cells(whole) + 1):
        start, rest = split_at(whole, columns)
        assert start + rest == whole
        assert len(start) in borders
        assert cells(start) <= columns
        assert cut(whole, columns).rstrip("…") in {whole[:at] for at in borders}


def test_one_that_is_wider_than_the_row_is_split_all_the_same() -> None:
    assert split_at("👩\u200d👧x", 3) == ("👩\u200d", "👧x")
    assert split_at("漢x", 1) == ("", "漢x")


def test_what_needs_no_table_is_as_wide_as_the_table_says() -> None:
    from wcwidth import wcwidth

    from efr.cli.render import width

    letters = {chr(code) for code in range(0xC0, 0x300)}
    assert [c for c in width._NARROW | letters if wcwidth(c) != 1] == []
