"""Markdown tables: finding one, its cells, the grid, and records where the grid is too wide.

Pure. GFM's rules for what a table is (github.github.com/gfm, "Tables").
"""

from __future__ import annotations

import re

from efr.cli.render.inline import inline_line
from efr.cli.render.spans import EMPTY, MUTED, Line, Span, hang, join, restyle, width, wrap

_RULE_CELL = r"^:?-+:?$"
_UNESCAPED_BAR = r"(?<!\\)\|"
_BETWEEN = " │ "


def cells_of(line: str) -> list[str]:
    """The cells of a row, trimmed, with `\\|` as a bar."""
    text = line.strip()
    text = text[1:] if text.startswith("|") else text
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    return [cell.strip().replace("\\|", "|") for cell in re.split(_UNESCAPED_BAR, text)]


def is_rule(line: str, header: str) -> bool:
    """Whether `line` is the delimiter row of a table whose header row is `header`."""
    if "|" not in line + header or "-" not in line:
        return False
    cells = cells_of(line)
    return all(re.match(_RULE_CELL, cell) for cell in cells) and len(cells) == len(cells_of(header))


def table_lines(rows: list[str], columns: int, *, quotes: bool = False) -> list[Line]:
    """The rows of a table: `rows` holds header, delimiter row and body as written."""
    header, rule, *body = (cells_of(line) for line in rows)
    count = len(header)
    titles = [restyle(inline_line(cell, quotes=quotes), bold=True) for cell in header]
    grid = [
        [inline_line(cell, quotes=quotes) for cell in (*line, *[""] * count)[:count]]
        for line in body
    ]
    widths = [max(width(line[i]) for line in (titles, *grid)) for i in range(count)]
    if sum(widths) + len(_BETWEEN) * (count - 1) > columns:
        return _records(titles, grid, columns)
    right = [cell.endswith(":") and not cell.startswith(":") for cell in rule]
    middle = [cell.endswith(":") and cell.startswith(":") for cell in rule]
    places = list(zip(widths, right, middle, strict=True))
    bars = Span("─┼─".join("─" * size for size in widths), MUTED)
    return [_grid_row(titles, places), (bars,), *(_grid_row(line, places) for line in grid)]


def _grid_row(line: list[Line], places: list[tuple[int, bool, bool]]) -> Line:
    parts: list[Line] = []
    for index, (cell, (size, right, middle)) in enumerate(zip(line, places, strict=True)):
        free = size - width(cell)
        before = free if right else free // 2 if middle else 0
        after = free - before if index < len(line) - 1 else 0
        bar = (Span(_BETWEEN, MUTED),) if index else EMPTY
        parts.append(join(bar, _blanks(before), cell, _blanks(after)))
    return join(*parts)


def _blanks(count: int) -> Line:
    return (Span(" " * count),) if count else EMPTY


def _records(titles: list[Line], grid: list[list[Line]], columns: int) -> list[Line]:
    """`header: value`, one row for each cell, a rule between two records."""
    lines: list[Line] = []
    for index, record in enumerate(grid):
        if index:
            lines.append((Span("─" * min(8, columns), MUTED),))
        for title, cell in zip(titles, record, strict=True):
            lines.extend(hang(join(title, (Span(": "),), cell), columns, indent=2))
    return lines or [part for title in titles for part in wrap(title, columns)]
