"""Finding the lines of a hunk in a file: exactly first, then in ever looser readings.

Pure. Each reading gives the lines another form, made once per file; the first reading with a match
decides. Owns the readings, the search for anchors and the lines that come nearest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_SINGLE: Final = "\u2018\u2019\u201a\u201b"
_DOUBLE: Final = "\u201c\u201d\u201e\u201f"
_SPACES: Final = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u202f\u205f\u3000"
)
_ASCII: Final = str.maketrans(
    dict.fromkeys(_DASHES, "-")
    | dict.fromkeys(_SINGLE, "'")
    | dict.fromkeys(_DOUBLE, '"')
    | dict.fromkeys(_SPACES, " ")
    | {"\ufeff": ""}
)

Reading = Callable[[str], str]


def _plain(line: str) -> str:
    return line


def _ascii(line: str) -> str:
    return line.translate(_ASCII).strip()


READINGS: Final[tuple[Reading, ...]] = (_plain, str.rstrip, str.strip, _ascii)
_LOOSEST: Final = len(READINGS) - 1

_COMMON: Final = 64  # a line at more places than this says little about where a hunk belongs
_GRAM: Final = 3  # letters that two lines share; as in trigram search
_READ: Final = 400  # characters of a line that are compared for likeness
_LOOKED_AT: Final = 20_000  # different lines that are compared for likeness: a fifth of a second


class FileLines:
    """The lines of one file, without their ends, for many searches."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._forms: dict[int, list[str]] = {}
        self._places: dict[int, dict[str, list[int]]] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def matches(self, old: Sequence[str], start: int, *, at_end: bool) -> Iterator[int]:
        """Where `old` stands from `start` on, by the first reading that finds it anywhere."""
        for reading in range(len(READINGS)):
            want = [READINGS[reading](line) for line in old]
            found = self._matches(reading, want, start, at_end=at_end)
            first = next(found, None)
            if first is not None:
                yield first
                yield from found
                return

    def anchor(self, anchor: str, start: int) -> int | None:
        """The first line from `start` on that the anchor names."""
        for reading, read in enumerate(READINGS):
            places = self._places_of(reading).get(read(anchor), [])
            at = bisect_left(places, start)
            if at < len(places):
                return places[at]
        want = _ascii(anchor)
        forms = self._forms_of(_LOOSEST)
        lines = range(start, len(forms))
        return next((at for at in lines if _starts_with(forms[at], want)), None)

    def nearest(self, old: Sequence[str], start: int) -> int | None:
        """Where most of `old` stands, else where its longest line has its like; None: nowhere."""
        want = [_ascii(line) for line in old]
        places = self._places_of(_LOOSEST)
        votes: Counter[int] = Counter()
        for index, line in enumerate(want):
            found = places.get(line, ()) if line else ()
            if len(found) <= _COMMON:
                votes.update(at - index for at in found)
        if votes:
            most = max(votes.values())
            return min(
                (at for at, count in votes.items() if count == most),
                key=lambda at: (at < start, abs(at - start)),
            )
        return self._likest(want)

    def differs(self, old: Sequence[str], at: int) -> int:
        """How many lines of `old` match at `at` before the first that does not, loosely read."""
        forms = self._forms_of(_LOOSEST)
        for index, line in enumerate(old):
            place = at + index
            if not 0 <= place < len(forms) or forms[place] != _ascii(line):
                return index
        return len(old)

    def _matches(self, reading: int, want: list[str], start: int, *, at_end: bool) -> Iterator[int]:
        forms = self._forms_of(reading)
        size = len(want)
        if at_end:
            last = len(forms) - size
            if last >= start and forms[last:] == want:
                yield last
            return
        places = self._places_of(reading)
        rarest = min(range(size), key=lambda index: len(places.get(want[index], ())))
        found = places.get(want[rarest], [])
        for place in found[bisect_left(found, start + rarest) :]:
            at = place - rarest
            if forms[at : at + size] == want:
                yield at

    def _forms_of(self, reading: int) -> list[str]:
        if reading not in self._forms:
            read = READINGS[reading]
            self._forms[reading] = [read(line) for line in self._lines]
        return self._forms[reading]

    def _places_of(self, reading: int) -> dict[str, list[int]]:
        if reading not in self._places:
            places: dict[str, list[int]] = {}
            for at, form in enumerate(self._forms_of(reading)):
                places.setdefault(form, []).append(at)
            self._places[reading] = places
        return self._places[reading]

    def _likest(self, want: Sequence[str]) -> int | None:
        longest = max(range(len(want)), key=lambda index: len(want[index]))
        grams = _grams(want[longest])
        best, best_at = 0.0, None
        for form, places in islice(self._places_of(_LOOSEST).items(), _LOOKED_AT):
            other = _grams(form)
            shared = len(grams & other)
            if shared and shared / len(grams | other) > best:
                best, best_at = shared / len(grams | other), places[0] - longest
        return best_at


def _starts_with(line: str, anchor: str) -> bool:
    """Whether the line starts with the anchor, and the anchor ends no inside of a word."""
    if not anchor or not line.startswith(anchor):
        return False
    rest = line[len(anchor) :]
    return not (rest and _in_word(rest[0]) and _in_word(anchor[-1]))


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _grams(line: str) -> frozenset[str]:
    text = line[:_READ].lower()
    return frozenset(text[at : at + _GRAM] for at in range(max(len(text) - _GRAM + 1, 0)))
