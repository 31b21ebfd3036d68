"""Titles, notices, visible text and numbers."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.text.notice import one_line
from efr.text.numbers import age_text, count_text, duration_text, size_text
from efr.text.title import title_of
from efr.text.visible import FORMAT_RANGES, visible_line, visible_text


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("\n  fix the tests \n", "fix the tests"),
        ("first\nsecond", "first"),
        ("", ""),
        (" \n\t\n", ""),
        ("x" * 80, "x" * 80),
        ("x" * 90, "x" * 77 + "..."),
        ("x" * 76 + " " + "y" * 20, "x" * 76 + "..."),
        ("日" * 81, "日" * 77 + "..."),
    ],
)
def test_titles(prompt: str, title: str) -> None:
    assert title_of(prompt) == title


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\nb\tc\r\nd", "a b c d"),
        ("bell\a esc\x1b[31m del\x7f", "bell␇ esc␛[31m del␡"),
        ("c1\x9b2J", "c1\ufffd2J"),
        ("abc\u202edef", "abc\ufffddef"),
        ("a\u2028b", "a b"),
        ("\udc80", "\ufffd"),
        ("carriage\rreturn", "carriage␍return"),
        ("👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥", "👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥"),
        ("👩🏽\u200d💻\u200b👩", "👩🏽\u200d💻\ufffd👩"),
        ("a\u200db 👩\u200d 👩\u200db a\u200d👩", "a\ufffdb 👩\ufffd 👩\ufffdb a\ufffd👩"),
        ("👩\u200d\u200d👩\u200d", "👩\ufffd\ufffd👩\ufffd"),
        ("a\ufe0f\u200d👩", "a\ufe0f\ufffd👩"),
    ],
)
def test_one_line_shows_no_control(text: str, line: str) -> None:
    assert visible_line(text) == line


def test_several_lines_keep_newlines_tabs_and_a_models_joiners() -> None:
    text = "a\tb\r\nc\x1b \u200d"
    assert visible_text(text) == "a\tb\nc␛ \ufffd"
    assert visible_text("👩\u200d👧\n") == "👩\u200d👧\n"
    assert visible_text(text, keep_format=True) == "a\tb\nc␛ \u200d"


def test_the_format_characters_are_those_of_unicode() -> None:
    listed = {code for start, end in FORMAT_RANGES for code in range(start, end + 1)}
    known = {c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) == "Cf"}
    assert listed >= known if unicodedata.unidata_version == "14.0.0" else listed & known


@given(st.text(st.characters()))
def test_nothing_that_moves_a_cursor_is_left(text: str) -> None:
    for shown in (visible_line(text), one_line(text)):
        assert not any(unicodedata.category(sign) in {"Cc", "Zl", "Zp", "Cs"} for sign in shown)
    left = {s for s in visible_text(text) if unicodedata.category(s) in {"Cc", "Cs"}}
    assert left <= {"\n", "\t"}
    assert len(one_line(text)) <= 200


def test_a_long_notice_ends_in_three_dots() -> None:
    assert one_line("word " * 60) == "word " * 39 + "wo..."
    assert one_line("abcdefghij", limit=8) == "abcde..."


@pytest.mark.parametrize(
    ("seconds", "age", "duration"),
    [
        (-5, "just now", "0s"),
        (0, "just now", "0s"),
        (59.9, "just now", "59s"),
        (60, "1 min ago", "1m 0s"),
        (303, "5 min ago", "5m 3s"),
        (25 * 60, "25 min ago", "25m 0s"),
        (2 * 3600 + 5 * 60 + 59, "2 h ago", "2h 5m"),
        (3 * 3600, "3 h ago", "3h 0m"),
        (3 * 86400 + 4 * 3600, "3 d ago", "3d 4h"),
        (400 * 86400, "400 d ago", "400d 0h"),
    ],
)
def test_times_in_words(seconds: float, age: str, duration: str) -> None:
    assert (age_text(seconds), duration_text(seconds)) == (age, duration)


@pytest.mark.parametrize(
    ("number", "count", "size"),
    [
        (-1, "0", "0 B"),
        (512, "512", "512 B"),
        (999, "999", "999 B"),
        (1000, "1.0k", "1.0 KB"),
        (1999, "1.9k", "1.9 KB"),
        (3_299, "3.2k", "3.2 KB"),
        (24_999, "24k", "24 KB"),
        (207_456, "207k", "207 KB"),
        (999_999, "999k", "999 KB"),
        (1_299_999, "1.2M", "1.2 MB"),
        (1_400_000_000, "1400M", "1.4 GB"),
        (5 * 10**12, "5000000M", "5.0 TB"),
    ],
)
def test_numbers_are_cut_and_never_rounded_up(number: int, count: str, size: str) -> None:
    assert (count_text(number), size_text(number)) == (count, size)
