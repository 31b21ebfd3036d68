"""Conversations as rows of a list: title, project, age, turns, and the terminal that holds one.

Pure. The columns are a contract (docs/conversations.md). Titles are cut so that a row fits the
terminal; where that is not enough, projects are cut too, and at last the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from efr.cli.render.spans import MUTED, PLAIN, Line, Span, Style, cut_line, row, width
from efr.cli.render.width import ELLIPSIS, cells, cut, pad
from efr.text.numbers import age_text
from efr.text.visible import visible_line
from efr.wire import types as t

NO_TITLE = "(no title)"
NO_PROJECT, GONE_PROJECT = "no project", "removed project"
HIT_INDENT = "    "
MATCH = Style("accent", bold=True)
_LEAST_TITLE, _LEAST_PROJECT = 10, 3  # columns below which a cut tells nothing
_NUMBERED_TURNS = 8  # columns: `99 turns` without moving the others
_LEAD = 24  # columns of a long line that stay before its first match


class Listed(NamedTuple):
    """One row: a conversation, and what a search found in it."""

    row: t.RecentRow
    title_ranges: tuple[t.Range, ...] = ()
    short_id: str = ""
    hit: t.SearchHit | None = None


class _Cells(NamedTuple):
    """The texts of a row."""

    title: Line
    project: str
    age: str
    turns: str
    mark: str


def named(title: str | None) -> str:
    """A title in a sentence."""
    return f'"{visible_line(title)}"' if title else NO_TITLE


def index_line(index: t.SearchIndex | None) -> list[Line]:
    """How far the search index is; nothing when it is whole."""
    return [row(f"indexing: {index.percent}%", MUTED)] if index is not None else []


def numbered(listed: Sequence[Listed], now_us: int, columns: int | None) -> list[Line]:
    """Numbered rows; `columns` None: nothing is cut."""
    rows = _aligned(listed, now_us, None if columns is None else columns - 4, _NUMBERED_TURNS)
    lines: list[Line] = []
    for number, (one, cells_of_row) in enumerate(zip(listed, rows, strict=True), 1):
        lines.append(_fit((Span(f"{number:>2}  "), *cells_of_row), columns))
        lines += hit_lines(one, columns)
    return lines


def unnumbered(listed: Sequence[Listed], now_us: int, columns: int | None) -> list[Line]:
    """The same columns alone, for the picker."""
    rows = _aligned(listed, now_us, columns, _NUMBERED_TURNS)
    return [_fit(line, columns) for line in rows]


def found(listed: Sequence[Listed], now_us: int, columns: int | None) -> list[Line]:
    """Rows of a search, with the short id at the end and the hit below."""
    id_columns = max((cells(one.short_id) for one in listed), default=0) + 3
    room = None if columns is None else columns - id_columns
    rows = _aligned(listed, now_us, room, 0)
    widest = max(map(width, rows), default=0)
    lines: list[Line] = []
    for one, cells_of_row in zip(listed, rows, strict=True):
        blanks = Span(" " * (widest - width(cells_of_row) + 3))
        lines.append(_fit((*cells_of_row, blanks, Span(one.short_id)), columns))
        lines += hit_lines(one, columns)
    return lines


def hit_lines(one: Listed, columns: int | None) -> list[Line]:
    """The line that matched, indented; nothing for a match in the title alone."""
    hit = one.hit
    if hit is None or hit.kind is t.SearchKind.TITLE or not hit.lines:
        return []
    room = None if columns is None else columns - len(HIT_INDENT)
    return [(Span(HIT_INDENT), *search_line(hit.lines[0], room))]


def search_line(line: t.SearchLine, columns: int | None) -> Line:
    """A line with its matches marked; a long one starts shortly before the first of them."""
    text, ranges = line.text, line.ranges
    if columns is not None and ranges and cells(visible_line(text)) > columns:
        start = max(min(ranges[0].start - _LEAD, len(text)), 0)
        if start and ranges[0].end > columns:
            moved = tuple(_moved(one, start) for one in ranges if one.start >= start)
            return _fit((Span(ELLIPSIS), *marked(text[start:], moved)), columns)
    return _fit(marked(text, ranges), columns)


def marked(text: str, ranges: Sequence[t.Range], style: Style = PLAIN) -> Line:
    """Text for one row with what stands in `ranges` (code points) in the style of a match."""
    spans: list[Span] = []
    at = 0
    for one in ranges:
        start, end = max(one.start, at), min(one.end, len(text))
        if start >= end:
            continue
        spans += [Span(text[at:start], style), Span(text[start:end], MATCH)]
        at = end
    spans.append(Span(text[at:], style))
    return tuple(span._replace(text=visible_line(span.text)) for span in spans if span.text)


def _moved(one: t.Range, by: int) -> t.Range:
    return t.Range(start=one.start - by, end=one.end - by)


def _fit(line: Line, columns: int | None) -> Line:
    return line if columns is None else cut_line(line, columns)


def _cells(one: Listed, now_us: int) -> _Cells:
    row_ = one.row
    title = row_.summary.title
    turns = f"{row_.turns} turn" if row_.turns == 1 else f"{row_.turns} turns"
    mark = "this terminal" if row_.here else ""
    if row_.open_in is not None:
        mark = f"open in {visible_line(row_.open_in)}"
    age_s = (now_us - t.time_to_us(row_.summary.updated_at)) / 1_000_000
    shown = marked(title, one.title_ranges) if title else row(NO_TITLE)
    return _Cells(shown, project_text(row_), age_text(age_s), turns, mark)


def project_text(one: t.RecentRow) -> str:
    """The project's name; in words for one that is gone, and for none."""
    if one.project is not None:
        return visible_line(one.project)
    return GONE_PROJECT if isinstance(one.route, t.RouteProject) else NO_PROJECT


def _aligned(
    listed: Sequence[Listed], now_us: int, columns: int | None, least_turns: int
) -> list[Line]:
    """The rows with columns as wide as their widest cell, cut to `columns`."""
    rows = [_cells(one, now_us) for one in listed]
    if not rows:
        return []
    titles = max(width(one.title) for one in rows)
    projects = max(cells(one.project) for one in rows)
    ages = max(cells(one.age) for one in rows)
    turns = max(least_turns, *(cells(one.turns) for one in rows))
    marks = max(cells(one.mark) for one in rows)
    if columns is not None:
        rest = ages + turns + 6 + (marks + 3 if marks else 0)
        over = titles + projects + rest - columns
        fewer = min(max(over, 0), max(titles - _LEAST_TITLE, 0))
        titles -= fewer
        projects -= min(max(over - fewer, 0), max(projects - _LEAST_PROJECT, 0))
    return [_row(one, titles, projects, ages, turns) for one in rows]


def _row(one: _Cells, titles: int, projects: int, ages: int, turns: int) -> Line:
    title = cut_line(one.title, titles)
    project = pad(cut(one.project, projects), projects)
    text = f"{' ' * (titles - width(title))}  {project}  {pad(one.age, ages)}  "
    text += pad(one.turns, turns, right=True) + (f"   {one.mark}" if one.mark else "")
    return (*title, Span(text))
