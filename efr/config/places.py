"""Where keys and values stand in a TOML text, by their path. Pure.

The parser of the standard library gives no places, so this walks over a text that it took: what is
no TOML never comes here. Places are offsets; `line_column` counts from 1 and in characters. Used
for errors and edits. Facts: https://toml.io/en/v1.0.0
"""

from __future__ import annotations

import re
import tomllib
from typing import Final, NamedTuple

from msgspec import Struct, field

Path = tuple[str | int, ...]


class Span(NamedTuple):
    """A key, the start of its value and the end of it. A table's are those of its header."""

    key: int
    value: int
    end: int


class Section(Struct):
    """What a header holds up to the next one; the text before the first header has none.

    `end` is the end of the last pair, else of the header.
    """

    path: Path
    start: int
    end: int
    many: bool = False  # `[[…]]`


class Layout(Struct):
    """Every key and item of a text, and its sections in order."""

    spans: dict[Path, Span] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=lambda: [Section((), 0, 0)])

    def is_pair(self, path: Path) -> bool:
        """Whether a `key = value` gives this path, and no header and no longer key."""
        span = self.spans.get(path)
        return span is not None and span.value > span.key


_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE: Final = re.compile(r"[ \t]*")
_KEY: Final = re.compile(r"[A-Za-z0-9_-]+|\"(?:\\.|[^\"\\])*\"|'[^']*'")
_STRING: Final = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\])*"' r"|'[^']*'", re.DOTALL
)
_OTHER: Final = re.compile(r"[^,\]}#\r\n]+")


def layout(text: str) -> Layout:
    """The layout of a valid TOML text."""
    return _Walk(text).run()


def line_column(text: str, offset: int) -> tuple[int, int]:
    """The line and the column of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


class _Walk:
    """One walk over one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._found = Layout()
        self._counts: dict[Path, int] = {}  # items so far of each array of tables

    def run(self) -> Layout:
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                self._header()
            else:
                section = self._found.sections[-1]
                self._pair(section.path)
                section.end = self._at
        return self._found

    def _header(self) -> None:
        """`[a.b]` or `[[a.b]]`."""
        start = self._at
        many = self._text.startswith("[[", start)
        self._at += 2 if many else 1
        self._skip(_SPACE)
        names, _ = self._key()
        self._at += 2 if many else 1
        path: Path = ()
        for index, name in enumerate(names):
            path = (*path, name)
            if many and index == len(names) - 1:
                self._counts[path] = self._counts.get(path, -1) + 1
            self._note(path, start, start)
            if path in self._counts:
                path = (*path, self._counts[path])
                self._note(path, start, start)
        self._found.sections.append(Section(path, start, self._at, many))

    def _pair(self, table: Path) -> None:
        """`a.b = value`."""
        names, starts = self._key()
        self._at += 1  # the sign
        self._skip(_SPACE)
        path = table
        for name, start in zip(names[:-1], starts, strict=False):
            path = (*path, name)
            self._note(path, start, start)
        path = (*path, names[-1])
        value = self._at
        self._value(path)
        self._note(path, starts[-1], value)

    def _key(self) -> tuple[list[str], list[int]]:
        """The parts of a dotted key and where each starts; stands at what follows."""
        names, starts = [], []
        while True:
            found = _KEY.match(self._text, self._at)
            assert found is not None  # a valid text
            names.append(_plain(found[0]))
            starts.append(self._at)
            self._at = found.end()
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return names, starts
            self._at += 1
            self._skip(_SPACE)

    def _value(self, path: Path) -> None:
        first = self._text[self._at]
        if first == "[":
            self._array(path)
        elif first == "{":
            self._inline(path)
        else:
            found = (_STRING if first in "\"'" else _OTHER).match(self._text, self._at)
            assert found is not None
            self._at += len(found[0].rstrip(" \t"))

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while self._text[self._skip(_BLANK)] != "]":
            start = self._at
            self._value((*path, index))
            self._note((*path, index), start, start)
            index += 1
            if self._text[self._skip(_BLANK)] == ",":
                self._at += 1
        self._at += 1

    def _inline(self, path: Path) -> None:
        self._at += 1
        while self._text[self._skip(_BLANK)] != "}":
            self._pair(path)
            if self._text[self._skip(_BLANK)] == ",":
                self._at += 1
        self._at += 1

    def _skip(self, what: re.Pattern[str]) -> int:
        found = what.match(self._text, self._at)
        assert found is not None  # it matches nothing as well
        self._at = found.end()
        return self._at

    def _note(self, path: Path, key: int, value: int) -> None:
        """The first place counts: a table's keys may come in several parts."""
        self._found.spans.setdefault(path, Span(key, value, self._at))


def _plain(key: str) -> str:
    """A key without its quotes."""
    if key[0] not in "\"'":
        return key
    text: str = tomllib.loads(f"x = {key}")["x"]
    return text
