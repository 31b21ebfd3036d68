"""Cutting: limits, whole characters, line ends."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.text.cut import cut_end, cut_middle

NOTE = re.compile(r"\[\.\.\. (\d+) bytes omitted \.\.\.\]\n")


@given(st.text(max_size=400), st.integers(min_value=40, max_value=300))
def test_a_cut_keeps_the_limit_both_ends_and_an_exact_count(text: str, limit: int) -> None:
    cut, was_cut = cut_middle(text, limit)

    size = len(text.encode())
    assert was_cut == (size > limit)
    if not was_cut:
        assert cut == text
        return
    assert len(cut.encode()) <= limit
    note = next(n for n in NOTE.finditer(cut) if text.endswith(cut[n.end() :]))
    tail = cut[note.end() :]
    head = text[: next(n for n in range(note.start(), -1, -1) if text[:n] == cut[:n])]
    assert int(note[1]) == size - len(head.encode()) - len(tail.encode())


def test_a_cut_is_made_at_a_line_end_near_the_limit() -> None:
    text = "".join(f"line {n:02}\n" for n in range(40))
    cut, _ = cut_middle(text, 120)
    assert cut == (
        "line 00\nline 01\nline 02\nline 03\nline 04\n[... 232 bytes omitted ...]\n"
        "line 34\nline 35\nline 36\nline 37\nline 38\nline 39\n"
    )


def test_a_long_line_is_cut_inside_and_gets_a_line_of_its_own_for_the_note() -> None:
    cut, _ = cut_middle("é" * 100, 61)
    assert cut == "é" * 8 + "\n[... 168 bytes omitted ...]\n" + "é" * 8


def test_a_limit_without_room_for_the_note_is_refused() -> None:
    with pytest.raises(ValueError, match="no room"):
        cut_middle("x" * 100, 20)


@pytest.mark.parametrize(
    ("text", "limit", "cut"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc..."), ("ab  efg", 6, "ab..."), ("", 3, "")],
)
def test_cutting_the_end(text: str, limit: int, cut: str) -> None:
    assert cut_end(text, limit) == cut
