"""The lines of a hit that are shown, with what matched marked. Pure but for the tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from efr.store.search.words import Range, Words
from efr.text.indexed import LINE_END

LINE_LIMIT: Final = 300  # characters: three rows of a terminal, one of a wide preview
_BEFORE: Final = 80  # of them before the first mark, so that it stands in sight
_CUT: Final = "…"


class Line(Struct, frozen=True, gc=False):
    """A line, and the ranges in it (code points, half open, ascending)."""

    text: str
    ranges: tuple[Range, ...] = ()


def matching_lines(words: Words, text: str, most: int) -> tuple[Line, ...]:
    """At most `most` lines in their order: those with the most items of the query, then the first.

    When no line holds an item whole (a phrase over two lines), those with a part of one.
    """
    lines = text.split(LINE_END)
    scored: list[tuple[int, int, tuple[Range, ...]]] = []
    whole = 0  # lines with every item: when there are enough, no other can be better
    for number in words.may_hold(text.lower().split(LINE_END)):
        found = words.ranges(lines[number])
        if held := sum(map(bool, found)):
            scored.append((-held, number, merged(range_ for one in found for range_ in one)))
            whole += held == len(found)
            if whole == most:
                break
    if not scored:
        return _lines_with_parts(words, text, lines, most) or (_cut(lines[0], ()),)
    best = sorted(sorted(scored)[:most], key=lambda row: row[1])
    return tuple(_cut(lines[number], ranges) for _, number, ranges in best)


def _lines_with_parts(words: Words, text: str, lines: Sequence[str], most: int) -> tuple[Line, ...]:
    ranges = merged(range_ for one in words.ranges(text) for range_ in one)
    found: list[Line] = []
    at = 0
    for line in lines:
        here = [(max(a - at, 0), min(b - at, len(line))) for a, b in ranges]
        if parts := tuple((a, b) for a, b in here if a < b):
            found.append(_cut(line, parts))
            if len(found) == most:
                break
        at += len(line) + len(LINE_END)
    return tuple(found)


def first_lines(text: str, most: int) -> tuple[Line, ...]:
    """The beginning of a text, nothing marked."""
    return tuple(_cut(line, ()) for line in text.split(LINE_END, most)[:most])


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Ascending, without overlaps."""
    result: list[Range] = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)


def _cut(line: str, ranges: tuple[Range, ...]) -> Line:
    """A long line: the part around its first mark."""
    if len(line) <= LINE_LIMIT:
        return Line(line, ranges)
    room = LINE_LIMIT - 2 * len(_CUT)
    first = ranges[0][0] if ranges else 0
    start = max(0, min(first - _BEFORE, len(line) - room))
    end = min(len(line), start + room)
    head = _CUT if start else ""
    tail = _CUT if end < len(line) else ""
    shift = len(head) - start
    inside = tuple(
        (max(a, start) + shift, min(b, end) + shift) for a, b in ranges if a < end and b > start
    )
    return Line(f"{head}{line[start:end]}{tail}", inside)
