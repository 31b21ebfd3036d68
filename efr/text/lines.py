"""Which lines of two texts belong together.

Pure. Patience first (lines that occur once on either side are anchors, the longest run of them
in order is kept), then Myers' greedy search between anchors, bounded so that two large unlike
texts cost little: what it cannot align within its bound counts as changed as a whole. Sources:
E. Myers, "An O(ND) Difference Algorithm" (1986); B. Cohen's patience diff.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

_WORK: Final = 1_000_000  # steps of one greedy search; about half a second of CPython
_MOST_EDITS: Final = 400  # its memory grows with the square of this


_Pairs = list[tuple[int, int]]


class Match(NamedTuple):
    """`size` equal lines from `old` and `new` on, both counted from 0."""

    old: int
    new: int
    size: int


class _Region(NamedTuple):
    old: int
    old_end: int
    new: int
    new_end: int


def split_lines(text: str) -> list[str]:
    """The lines with their newlines; only `\\n` ends a line, as in git."""
    return text.splitlines(keepends=True) if _is_plain(text) else _split_at_newlines(text)


def matches(old: Sequence[str], new: Sequence[str]) -> list[Match]:
    """The equal runs in order, none touching the next on both sides."""
    pairs: _Pairs = []
    regions = [_Region(0, len(old), 0, len(new))]
    while regions:
        head, inner, tail = _trimmed(old, new, regions.pop())
        pairs += head + tail
        if inner.old == inner.old_end or inner.new == inner.new_end:
            continue
        anchors = _anchors(old, new, inner)
        if anchors:
            regions += _between(inner, anchors)
            pairs += anchors
        else:
            pairs += _greedy(old, new, inner)
    return _runs(sorted(pairs))


def _is_plain(text: str) -> bool:
    """Whether `splitlines` and a split at newlines give the same."""
    return text.isascii() and not any(sign in text for sign in "\r\v\f\x1c\x1d\x1e")


def _split_at_newlines(text: str) -> list[str]:
    parts = text.split("\n")
    last = parts.pop()
    return [part + "\n" for part in parts] + ([last] if last else [])


def _trimmed(
    old: Sequence[str], new: Sequence[str], region: _Region
) -> tuple[_Pairs, _Region, _Pairs]:
    """The equal lines at both ends, and what is left between them."""
    a, a_end, b, b_end = region
    head: _Pairs = []
    while a < a_end and b < b_end and old[a] == new[b]:
        head.append((a, b))
        a, b = a + 1, b + 1
    tail: _Pairs = []
    while a < a_end and b < b_end and old[a_end - 1] == new[b_end - 1]:
        a_end, b_end = a_end - 1, b_end - 1
        tail.append((a_end, b_end))
    return head, _Region(a, a_end, b, b_end), tail


def _anchors(old: Sequence[str], new: Sequence[str], region: _Region) -> _Pairs:
    """Pairs of lines unique on either side, the longest sequence that goes down on both."""
    once_old = _once(old, region.old, region.old_end)
    once_new = _once(new, region.new, region.new_end)
    both = sorted((i, once_new[line]) for line, i in once_old.items() if line in once_new)
    tops: list[int] = []  # the smallest last `new` of a rising sequence of each length
    ends: list[int] = []  # which pair that is
    before: list[int] = []
    for index, (_, at) in enumerate(both):
        length = bisect_left(tops, at)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [at]
        ends[length : length + 1] = [index]
    chain: _Pairs = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(both[index])
        index = before[index]
    return chain[::-1]


def _once(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    counts = Counter(lines[start:end])
    return {lines[i]: i for i in range(start, end) if counts[lines[i]] == 1}


def _between(region: _Region, anchors: _Pairs) -> list[_Region]:
    stops = [*anchors, (region.old_end, region.new_end)]
    starts = [(region.old, region.new), *((a + 1, b + 1) for a, b in anchors)]
    return [_Region(a, c, b, d) for (a, b), (c, d) in zip(starts, stops, strict=True)]


def _greedy(old: Sequence[str], new: Sequence[str], region: _Region) -> _Pairs:
    """Myers' search; nothing when the texts are further apart than the bound."""
    a, a_end, b, b_end = region
    if set(old[a:a_end]).isdisjoint(new[b:b_end]):
        return []
    height, width = a_end - a, b_end - b
    bound = min(_MOST_EDITS, _WORK // (height + width), height + width)
    reach = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(bound + 1):
        trace.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(reach, diagonal, edits)
            y = x - diagonal
            while x < height and y < width and old[a + x] == new[b + y]:
                x, y = x + 1, y + 1
            reach[diagonal] = x
            if x >= height and y >= width:
                return [(a + i, b + j) for i, j in _walk_back(trace, height, width)]
    return []


def _step(reach: dict[int, int], diagonal: int, edits: int) -> int:
    """Where the better neighbour arrives on this diagonal: down keeps x, right adds one."""
    down = diagonal == -edits or (diagonal != edits and reach[diagonal - 1] < reach[diagonal + 1])
    return reach[diagonal + 1] if down else reach[diagonal - 1] + 1


def _walk_back(trace: list[dict[int, int]], x: int, y: int) -> _Pairs:
    """The equal pairs of the shortest way, from its end."""
    found: _Pairs = []
    for edits in range(len(trace) - 1, -1, -1):
        reach = trace[edits]
        start_x = _step(reach, x - y, edits)
        start_y = start_x - (x - y)
        while x > start_x and y > start_y:
            x, y = x - 1, y - 1
            found.append((x, y))
        down = edits and start_x == reach.get(x - y + 1)
        x, y = (start_x, start_y - 1) if down else (start_x - 1, start_y)
    return found


def _runs(pairs: _Pairs) -> list[Match]:
    """Pairs that follow each other on both sides, joined."""
    found: list[Match] = []
    for old, new in pairs:
        last = found[-1] if found else Match(-1, -1, 0)
        if (old - last.size, new - last.size) == (last.old, last.new):
            found[-1] = last._replace(size=last.size + 1)
        else:
            found.append(Match(old, new, 1))
    return found
