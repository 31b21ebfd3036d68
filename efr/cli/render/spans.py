"""Styled text before it becomes escape codes: spans, lines, wrapping and cutting.

Pure. A `Line` is one row of output; no span holds a newline. Roles are the names of
docs/config.md, "[render]"; what they look like is `paint`'s business.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from efr.cli.render.width import ELLIPSIS, cells, split_at
from efr.text.visible import visible_text


class Style(NamedTuple):
    """A role and what stands beside its colour."""

    role: str = "text"
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    strike: bool = False


PLAIN = Style()
MUTED = Style("muted")
ACCENT = Style("accent")
CODE = Style("code")
SUCCESS = Style("success")
WARNING = Style("warning")
ERROR = Style("error")


class Span(NamedTuple):
    """A stretch of one style. `link` is the target of a hyperlink, empty for none."""

    text: str
    style: Style = PLAIN
    link: str = ""


Line = tuple[Span, ...]
EMPTY: Line = ()


def safe(text: str) -> str:
    """A model's text for one row: no control character, tabs and newlines as blanks."""
    if text.isprintable():
        return text
    return visible_text(text, keep_format=True).replace("\n", " ").replace("\t", " ")


def row(text: str, style: Style = PLAIN) -> Line:
    """A line of one style."""
    return (Span(text, style),) if text else EMPTY


def text_of(line: Line) -> str:
    """The bare text."""
    return "".join(span.text for span in line)


def width(line: Line) -> int:
    """Columns of the whole line."""
    return sum(cells(span.text) for span in line)


def restyle(line: Line, **changes: Any) -> Line:
    """The line with members of every style replaced, such as `italic=True`."""
    return tuple(span._replace(style=span.style._replace(**changes)) for span in line)


def join(*lines: Line) -> Line:
    """One line after the other, on one row."""
    return tuple(span for line in lines for span in line)


def split_lines(spans: Iterable[Span]) -> list[Line]:
    """Spans with newlines in their texts, as one line per row."""
    lines: list[list[Span]] = [[]]
    for span in spans:
        first, *more = span.text.split("\n")
        if first:
            lines[-1].append(span._replace(text=first))
        for text in more:
            lines.append([span._replace(text=text)] if text else [])
    return [tuple(line) for line in lines]


def split_line(line: Line, columns: int) -> tuple[Line, Line]:
    """The part that fits in `columns`, and the rest."""
    head: list[Span] = []
    room = columns
    for index, span in enumerate(line):
        size = cells(span.text)
        if size <= room:
            head.append(span)
            room -= size
            continue
        start, rest = split_at(span.text, room)
        if start:
            head.append(span._replace(text=start))
        return tuple(head), (span._replace(text=rest), *line[index + 1 :])
    return tuple(head), EMPTY


def cut_line(line: Line, columns: int) -> Line:
    """The line on one row of `columns`; a cut ends in `…` in the style it cut."""
    if width(line) <= columns:
        return line
    head, rest = split_line(line, max(columns - 1, 0))
    return (*head, Span(ELLIPSIS, rest[0].style)) if columns > 0 else EMPTY


def fold(line: Line, columns: int) -> list[Line]:
    """The line as a terminal wraps it: full rows, cut inside words. At least one row."""
    rows: list[Line] = []
    rest = line
    while width(rest) > columns:
        head, rest = split_line(rest, columns)
        if not head:  # a character wider than the terminal
            return [*rows, EMPTY]
        rows.append(head)
    return [*rows, rest]


def wrap(line: Line, columns: int) -> list[Line]:
    """The line cut at blanks to rows of `columns`; a longer word is cut inside. At least one."""
    rows: list[Line] = []
    current: list[Span] = []
    used = 0
    for word in _words(line):
        if used and used + _shown(word) > columns:
            rows.append(_without_last_blanks(tuple(current)))
            current, used = [], 0
        rest = word
        while _shown(rest) > columns:
            head, rest = split_line(rest, columns)
            if not head:  # a character wider than the terminal
                return [*rows, EMPTY]
            rows.append(head)
        current.extend(rest)
        used += width(rest)
    return [*rows, _without_last_blanks(tuple(current))]


def _shown(word: Line) -> int:
    """Columns of a word without the blanks behind it."""
    return cells(text_of(word).rstrip(" "))


def hang(line: Line, columns: int, indent: int) -> list[Line]:
    """Wrapped as `wrap`, the rows after the first one indented."""
    if width(line) <= columns:
        return [line]
    first, *more = wrap(line, max(columns - indent, 1))
    return [first, *((Span(" " * indent), *rest) for rest in more)]


def _merged(line: Line) -> list[Span]:
    """Neighbours of one look as one span, so that a row has few escape codes."""
    spans: list[Span] = []
    for span in line:
        if spans and spans[-1][1:] == span[1:]:
            spans[-1] = spans[-1]._replace(text=spans[-1].text + span.text)
        else:
            spans.append(span)
    return spans


def _words(line: Line) -> Iterator[Line]:
    """The line in pieces that end after a run of blanks."""
    word: list[Span] = []
    blank = False
    for span in line:
        start = 0
        for index, char in enumerate(span.text):
            if blank and char != " ":
                if index > start:
                    word.append(span._replace(text=span.text[start:index]))
                yield tuple(word)
                word, start = [], index
            blank = char == " "
        if start < len(span.text):
            word.append(span._replace(text=span.text[start:]))
    if word:
        yield tuple(word)


def _without_last_blanks(line: Line) -> Line:
    kept = _merged(line)
    while kept:
        text = kept[-1].text.rstrip(" ")
        if text:
            kept[-1] = kept[-1]._replace(text=text)
            break
        kept.pop()
    return tuple(kept)
