"""Words as the index splits and folds them, and where a query's words stand in a text.

Uses SQLite's own tokenizer with the options of the index, so that what is marked is what matched.
In ASCII text a word is a run of letters and digits and folding is lower case, so a pattern finds
the same much faster; a test compares the two. One connection, one thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import apsw

from efr.store.db import Connection
from efr.text.query import PREFIX_FROM, Item

_TOKENIZER: Final = ("unicode61", ["remove_diacritics", "2"])  # as in sql/0009_search.sql
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")

Range = tuple[int, int]  # half open, in code points


class Wanted(NamedTuple):
    """One item of a query: words that follow each other. `prefix`: the last one may go on.

    `match` is the item as FTS5 reads it, quoted, so that nothing in it is an operator. `ascii`
    finds it in lower case ASCII, each place of it as group 1; `glob` is true of every such text
    that holds it, with a blank at both ends.
    """

    words: tuple[str, ...]
    prefix: bool
    match: str
    ascii: re.Pattern[str]
    glob: str


class _Word(NamedTuple):
    start: int
    end: int
    folded: str


class Words:
    """The words of one search: what it looks for, and where that is."""

    def __init__(self, conn: Connection, items: Sequence[Item]) -> None:
        self._split = conn.fts5_tokenizer(*_TOKENIZER)
        self.wanted = tuple(self._wanted(items))

    @property
    def match(self) -> str:
        """The whole query for FTS5; "" when no item holds a word."""
        return " ".join(one.match for one in self.wanted)

    def _wanted(self, items: Sequence[Item]) -> Iterator[Wanted]:
        for item in items:
            words = tuple(word.folded for word in self._words(item.text))
            if words:
                prefix = item.last_word and len(words[-1]) >= PREFIX_FROM
                match = f'"{item.text}"{" *" if prefix else ""}'
                yield Wanted(words, prefix, match, _pattern(words, prefix), _glob(words, prefix))

    def may_hold(self, lower: Sequence[str]) -> list[int]:
        """The numbers of those of some texts in lower case that may hold an item, ascending. Most
        lines of a long answer hold none, and this costs a fraction of looking for places."""
        found: set[int] = set()
        for one in self.wanted:
            first = one.words[0]
            found.update(n for n, text in enumerate(lower) if first in text or not text.isascii())
        return sorted(found)

    def count(self, text: str) -> int:
        """How many words a text has."""
        return len(_ASCII_WORD.findall(text) if text.isascii() else self._words(text))

    def counts(self, text: str) -> list[int] | None:
        """How often a text holds each item; None when it does not hold all of them."""
        if text.isascii():
            lower = text.lower()
            counts = [len(one.ascii.findall(lower)) for one in self.wanted]
        else:
            counts = [len(ranges) for ranges in self.ranges(text)]
        return counts if all(counts) else None

    def ranges(self, text: str) -> list[list[Range]]:
        """For each item, where it stands in a text."""
        if text.isascii():
            lower = text.lower()
            return [[m.span(1) for m in one.ascii.finditer(lower)] for one in self.wanted]
        words = self._words(text)
        return [list(_ranges(one, words)) for one in self.wanted]

    def _words(self, text: str) -> list[_Word]:
        data = text.encode("utf-8", "replace")
        found: Any = self._split(data, apsw.FTS5_TOKENIZE_DOCUMENT, None)
        if len(data) == len(text):
            return [_Word(*word) for word in found]
        return list(_in_code_points(data, found))


def _in_code_points(data: bytes, found: Iterable[tuple[int, int, str]]) -> Iterator[_Word]:
    """Offsets of UTF-8 become offsets of characters."""
    at = count = 0
    for start, end, folded in found:
        first = count + len(data[at:start].decode())
        count = first + len(data[start:end].decode())
        at = end
        yield _Word(first, count, folded)


def _pattern(words: Sequence[str], prefix: bool) -> re.Pattern[str]:
    inner = "[^a-z0-9]+".join(map(re.escape, words))
    end = "[a-z0-9]*" if prefix else "(?![a-z0-9])"
    return re.compile(f"(?=(?<![a-z0-9])({inner}{end}))", re.ASCII)


def _glob(words: Sequence[str], prefix: bool) -> str:
    """For SQLite's GLOB; a folded word holds none of its signs."""
    end = "*" if prefix else "[^a-z0-9]*"
    return f"*[^a-z0-9]{'[^a-z0-9]*'.join(words)}{end}"


def _ranges(one: Wanted, words: Sequence[_Word]) -> Iterator[Range]:
    size = len(one.words)
    *firsts, last = one.words
    for at in range(len(words) - size + 1):
        end = words[at + size - 1]
        fits = end.folded.startswith(last) if one.prefix else end.folded == last
        if fits and all(words[at + n].folded == first for n, first in enumerate(firsts)):
            yield words[at].start, end.end
