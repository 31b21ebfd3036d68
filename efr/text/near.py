"""Where in a text a slow pattern can match at all: near a word that every match of it holds.

Pure. To look for plain words is a hundred times faster than to try a pattern at every position,
and most texts hold none of them. The answers are the same as those of a search over the whole
text, which the tests compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

Span = tuple[int, int]


def places_of(text: str, words: Iterable[str]) -> list[int]:
    """Where any of the words starts, ascending, each place once."""
    found: set[int] = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            found.add(at)
            at = text.find(word, at + 1)
    return sorted(found)


def matches_at(
    text: str, pattern: re.Pattern[str], places: Iterable[int]
) -> Iterator[re.Match[str]]:
    """The matches that begin at one of the ascending places, none inside the one before."""
    at = 0
    for place in places:
        if place >= at and (found := pattern.match(text, place)):
            yield found
            at = max(found.end(), place + 1)


def lines_with(text: str, words: Iterable[str]) -> list[Span]:
    """The lines, each with its newline, that hold one of the words in any ASCII case.

    `words` are lowercase.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a letter became two: places in `lower` are not those in `text`
        return _lines(text, range(len(text)))
    return _lines(text, places_of(lower, words))


def _lines(text: str, places: Iterable[int]) -> list[Span]:
    lines: list[Span] = []
    end = 0
    for place in places:
        if place < end:
            continue
        start = text.rfind("\n", 0, place) + 1
        end = text.find("\n", place) + 1 or len(text)
        lines.append((start, end))
    return lines
