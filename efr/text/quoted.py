"""A text with shell quotes in it: its words, and which quotes are open where.

Pure. Serves `efr.text.redact`: it is no shell parser and never fails on prose.
"""

from __future__ import annotations

import re
import string
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Final

Span = tuple[int, int]
_NAME_SIGNS: Final = string.ascii_letters + string.digits + "_.-"

# A shell word in pieces: escapes, quotes, `$'…'`, plain signs. Possessive: never tried twice.
SINGLE = r"'[^']*+(?:'|\Z)"
DOUBLE = r'"(?:\\.|[^"\\])*(?:"|\\?\Z)'
_ANSI = r"\$'(?:\\.|[^'\\])*(?:'|\\?\Z)"
_ESCAPED_QUOTE = r'\\"(?:(?!\\").)*(?:\\"|\Z)'
_PLAIN = r"\\.|[^\s;&|<>()'\"\\`]"
_FIRST = f"{_ESCAPED_QUOTE}|{SINGLE}|{DOUBLE}|{_ANSI}|{_PLAIN}"
_ARRAY = r"\([^)]*+(?:\)|\Z)"
_WORDS: Final = {  # by the quote around the word: that sign ends it
    "": re.compile(f"{_ARRAY}|(?:{_FIRST})+", re.DOTALL),
    "'": re.compile(f"(?:{_FIRST})(?:{DOUBLE}|{_PLAIN})*", re.DOTALL),
    '"': re.compile(f"(?:{_FIRST})(?:{SINGLE}|{_PLAIN})*", re.DOTALL),
}
TO_QUOTE: Final = {
    "'": re.compile(r"[^']*+"),
    '"': re.compile(r'(?:\\.|[^"\\])*', re.DOTALL),
    '\\"': re.compile(r'(?:(?!\\").)*', re.DOTALL),
}
_QUOTE_SIGNS = re.compile(r"\\.|['\"\n]", re.DOTALL)
_STAYS = re.compile(r"\"?(?:`|\$(?!['\"]))")  # a value that a variable or a command gives


class Quoted:
    """The text, and which quotes are open where. A newline closes them: prose has apostrophes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = set(text.split())
        self._changes: list[tuple[int, str]] | None = None
        self._starts: dict[re.Pattern[str], list[int]] = {}

    @cached_property
    def names(self) -> set[str]:
        """Every word that may be a program's name; a name may follow a sign, as in `$(curl`."""
        return self.words | {w[len(w.rstrip(_NAME_SIGNS)) :] for w in self.words if not w.isalnum()}

    def outer(self, at: int) -> str:
        """The quote sign that a position stands in, or ""."""
        if self._changes is None:
            self._changes = list(_quote_changes(self.text))
        index = bisect_right(self._changes, (at, "\uffff")) - 1
        return self._changes[index][1] if index >= 0 else ""

    def last(self, pattern: re.Pattern[str], before: int) -> int:
        """Where the last match that begins before a position begins; -1 without one."""
        if pattern not in self._starts:
            self._starts[pattern] = [found.start() for found in pattern.finditer(self.text)]
        starts = self._starts[pattern]
        index = bisect_left(starts, before) - 1
        return starts[index] if index >= 0 else -1

    def word(self, at: int) -> Span:
        """The shell word that starts here; it may be empty."""
        found = _WORDS[self.outer(at)].match(self.text, at)
        return (at, found.end() if found else at)

    def to_quote(self, at: int, quote: str) -> Span:
        """Up to the sign that closes `quote`."""
        found = TO_QUOTE[quote].match(self.text, at)
        return (at, found.end() if found else at)

    def stays(self, at: int) -> bool:
        """Whether the value that starts here is not written here: a variable gives it."""
        return _STAYS.match(self.text, at) is not None


def _quote_changes(text: str) -> Iterator[tuple[int, str]]:
    """(position from which it holds, open quote)."""
    quote = ""
    for sign in _QUOTE_SIGNS.finditer(text):
        if sign[0] == "\n" or sign[0] == quote:
            quote = ""
        elif quote or sign[0].startswith("\\"):
            continue
        else:
            quote = sign[0]
        yield sign.end(), quote
