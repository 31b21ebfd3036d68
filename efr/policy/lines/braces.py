"""The names that braces in a word stand for: `{a,b}`, `{1..3}`, one inside the other.

Pure. A word comes as its parts: text, and the signs that stand outside quotes. What is no list and
no range means itself. Facts: zshexpn(1), "Brace Expansion".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Final

from msgspec import Struct

_MOST_NAMES: Final = 256  # of one word; no person reads more
_MOST_SIGNS: Final = 100  # of one word; each pair is a step deeper
_NUMBERS: Final = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.(-?[0-9]{1,9}))?")
_LETTERS: Final = re.compile(r"(.)\.\.(.)", re.DOTALL)
_PATTERN: Final = re.compile(r"[*?\[~^#]")


class Brace(Enum):
    """A sign outside quotes."""

    OPEN = "{"
    CLOSE = "}"
    COMMA = ","

    def __str__(self) -> str:
        return self.value


Part = str | Brace


class TooManyNames(Exception):
    """More than anybody looks at."""


class Name(Struct, frozen=True):
    """One name. `any_at`: where a number of any size stands, as `*`."""

    text: str = ""
    any_at: int | None = None

    def joined(self, other: Name) -> Name:
        at = self.any_at
        if at is None and other.any_at is not None:
            at = len(self.text) + other.any_at
        return Name(self.text + other.text, at)

    def pattern_at(self, may_match: bool) -> int | None:
        """Where a pattern starts; `may_match`: the word holds a sign of one outside quotes."""
        found = _PATTERN.search(self.text, 1 if self.text.startswith("~") else 0)
        signs = [found.start()] if may_match and found is not None else []
        return min(signs + ([] if self.any_at is None else [self.any_at]), default=None)


def names_of(parts: Sequence[Part]) -> list[Name]:
    """Every name in order. Raises TooManyNames."""
    if sum(isinstance(part, Brace) for part in parts) > _MOST_SIGNS:
        raise TooManyNames
    found = _names(parts)
    if len(found) > 1 and _is_left_open(parts):  # zsh leaves such a word as it is
        found.append(Name("".join(map(str, parts))))
    return found


def _is_left_open(parts: Sequence[Part]) -> bool:
    depth = 0
    for part in parts:
        depth = max(depth + (part is Brace.OPEN) - (part is Brace.CLOSE), 0)
    return depth > 0


def _names(parts: Sequence[Part]) -> list[Name]:
    found = _first_pair(parts)
    if found is None:
        return [Name("".join(map(str, parts)))]
    start, end = found
    head = Name("".join(map(str, parts[:start])))
    tails = _names(parts[end + 1 :])
    middles = _inside(parts[start + 1 : end])
    if len(tails) * len(middles) > _MOST_NAMES:
        raise TooManyNames
    return [head.joined(middle).joined(tail) for middle in middles for tail in tails]


def _first_pair(parts: Sequence[Part]) -> tuple[int, int] | None:
    """Where the first brace that is closed opens and closes."""
    for start in (at for at, part in enumerate(parts) if part is Brace.OPEN):
        depth = 0
        for at, part in enumerate(parts[start:], start=start):
            depth += (part is Brace.OPEN) - (part is Brace.CLOSE)
            if not depth:
                return start, at
    return None


def _inside(parts: Sequence[Part]) -> list[Name]:
    """What stands between a pair."""
    choices = list(_choices(parts))
    if len(choices) > 1:
        found = [name for choice in choices for name in _names(choice)]
        if len(found) > _MOST_NAMES:
            raise TooManyNames
        return found
    text = "".join(map(str, parts))
    numbers, letters = _NUMBERS.fullmatch(text), _LETTERS.fullmatch(text)
    if numbers is not None:
        return _numbers(*(int(one or 1) for one in numbers.groups()))
    if letters is not None:
        first, last = ord(letters[1]), ord(letters[2])
        return _numbers(first, last, 1, named=True)
    plain = [Name("{").joined(name).joined(Name("}")) for name in _names(parts)]
    return [*plain, Name(text)] if ".." in text else plain  # zsh takes some of them away


def _choices(parts: Sequence[Part]) -> Iterator[Sequence[Part]]:
    """The parts between commas that stand in no inner brace."""
    depth = start = 0
    for at, part in enumerate(parts):
        depth += (part is Brace.OPEN) - (part is Brace.CLOSE)
        if part is Brace.COMMA and not depth:
            yield parts[start:at]
            start = at + 1
    yield parts[start:]


def _numbers(first: int, last: int, step: int, *, named: bool = False) -> list[Name]:
    """A range; too long a one is a pattern."""
    step = abs(step) or 1
    if abs(last - first) // step >= _MOST_NAMES:
        return [Name("*", 0)]
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return [Name(chr(number) if named else str(number)) for number in numbers]
