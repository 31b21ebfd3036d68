"""Spans: wrapping, folding and cutting by columns."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli.render.spans import (
    MUTED,
    Line,
    Span,
    cut_line,
    fold,
    hang,
    row,
    split_lines,
    text_of,
    width,
    wrap,
)
from efr.cli.render.width import cells, cut, pad, split_at

TEXT = st.text(st.sampled_from("ab  日🙂éx-"), max_size=60)
LINES = st.lists(st.tuples(TEXT, st.sampled_from([MUTED, MUTED._replace(bold=True)])), max_size=5)


def line_of(parts: list[tuple[str, object]]) -> Line:
    return tuple(Span(text, style) for text, style in parts if text)  # type: ignore[arg-type]


@settings(deadline=None)
@given(LINES, st.integers(2, 30))
def test_wrapped_rows_fit_and_lose_only_blanks(
    parts: list[tuple[str, object]], columns: int
) -> None:
    line = line_of(parts)
    rows = wrap(line, columns)

    assert all(width(part) <= columns for part in rows)
    joined = "".join(text_of(part) for part in rows)
    assert joined.replace(" ", "") == text_of(line).replace(" ", "")


@settings(deadline=None)
@given(LINES, st.integers(2, 30))
def test_folded_rows_are_the_text(parts: list[tuple[str, object]], columns: int) -> None:
    line = line_of(parts)
    rows = fold(line, columns)

    assert all(width(part) <= columns for part in rows)
    assert "".join(text_of(part) for part in rows) == text_of(line)


@settings(deadline=None)
@given(TEXT, st.integers(0, 30))
def test_a_cut_fits_and_splits_no_character(text: str, columns: int) -> None:
    head, rest = split_at(text, columns)

    assert head + rest == text
    assert cells(head) <= columns
    assert cells(cut(text, columns)) <= columns


@settings(deadline=None)
@given(LINES, st.integers(0, 30))
def test_a_cut_line_fits(parts: list[tuple[str, object]], columns: int) -> None:
    assert width(cut_line(line_of(parts), columns)) <= columns


@pytest.mark.parametrize(
    ("text", "columns", "rows"),
    [
        ("", 5, [""]),
        ("aa bb cc", 5, ["aa bb", "cc"]),
        ("aa bb cc ", 5, ["aa bb", "cc"]),
        ("abcdefgh ij", 4, ["abcd", "efgh", "ij"]),
        ("a 日本語", 4, ["a", "日本", "語"]),
        ("  in", 6, ["  in"]),
        ("日", 1, [""]),
    ],
)
def test_wrap(text: str, columns: int, rows: list[str]) -> None:
    assert [text_of(line) for line in wrap(row(text), columns)] == rows


def test_hang_indents_all_rows_but_the_first() -> None:
    rows = hang(row("one two three four"), 10, 2)

    assert [text_of(line) for line in rows] == ["one two", "  three", "  four"]


def test_newlines_become_rows_in_the_style_around_them() -> None:
    lines = split_lines([Span("a\nb", MUTED), Span("c\n\nd")])

    assert lines == [(Span("a", MUTED),), (Span("b", MUTED), Span("c")), (), (Span("d"),)]


def test_columns_follow_wcwidth() -> None:
    assert [cells(text) for text in ("ab", "日", "🙂", "é", "e\u0301", "\u200d")] == [
        2,
        2,
        2,
        1,
        1,
        0,
    ]
    assert pad("日", 4) == "日  "
    assert pad("日", 4, right=True) == "  日"
