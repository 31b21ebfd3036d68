"""How commands that print an answer do it: lines with roles, JSON, columns.

Colours only on a terminal. Everything from outside has passed `efr.text.visible` before.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from efr.cli.look import Look, look
from efr.cli.render.paint import paint_lines
from efr.cli.render.spans import Line, row
from efr.cli.render.width import cells, pad
from efr.cli.run import Run, is_terminal


def printer_look(run: Run) -> Look:
    """The look of an answer on stdout."""
    return look(run.env, terminal=is_terminal(1))


def print_lines(run: Run, lines: Iterable[Line]) -> None:
    """Lines with their roles, on stdout."""
    sys.stdout.write(paint_lines(list(lines), printer_look(run).colors))


def columns_of(descriptor: int = 1) -> int | None:
    """The terminal's width, or None where there is no terminal: nothing is cut there."""
    if not is_terminal(descriptor):
        return None
    try:
        return os.get_terminal_size(descriptor).columns or None
    except OSError:
        return None


def print_json(value: Any) -> None:
    """One JSON value on one line; on a terminal nothing in it can drive it."""
    print(json.dumps(value, ensure_ascii=is_terminal(1), separators=(",", ":")))


def table(rows: list[list[str]], gap: str = "  ") -> list[Line]:
    """Columns as wide as their widest cell; the last one is not padded."""
    if not rows:
        return []
    widths = [max(cells(line[i]) for line in rows) for i in range(len(rows[0]))]
    lines = []
    for line in rows:
        padded = [pad(text, size) for text, size in zip(line, widths, strict=True)]
        lines.append(row(gap.join(padded).rstrip()))
    return lines
