"""The picture of the tour: a terminal's whole screen, with its colours, as an SVG."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pyte.screens
from rich.console import Console
from rich.style import Style
from rich.text import Text

from tests.harness.terminal import Terminal


def draw(terminal: Terminal, target: Path) -> int:
    """Writes the tour's screen, with its colours, as an SVG."""
    screen = terminal.screen
    rows = [*screen.history.top, *(screen.buffer[y] for y in range(screen.lines))]
    console = Console(record=True, width=screen.columns, file=open(os.devnull, "w"))  # noqa: SIM115
    pictured = [draw_row(row, screen.columns) for row in rows]
    while pictured and not pictured[-1].plain.strip():
        pictured.pop()
    for row in pictured:
        console.print(row, no_wrap=True, crop=True)
    console.file.close()
    svg = console.export_svg(title="efr")
    target.write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")
    print(f"wrote {target}")
    return 0


def draw_row(row: Mapping[int, pyte.screens.Char], columns: int) -> Text:
    """One screen row as rich text."""
    text = Text()
    for cell in (row[x] for x in range(columns)):
        text.append(
            cell.data,
            Style(
                color=color_name(cell.fg),
                bgcolor=color_name(cell.bg),
                bold=cell.bold,
                italic=cell.italics,
                underline=cell.underscore,
                reverse=cell.reverse,
            ),
        )
    return text


def color_name(color: str) -> str | None:
    """pyte's name of a colour as rich knows it; None is the terminal's own."""
    if color == "default":
        return None
    if len(color) == 6 and all(c in "0123456789abcdef" for c in color):
        return f"#{color}"
    bright = color.startswith("bright")
    plain = color.removeprefix("bright").replace("brown", "yellow")
    return f"bright_{plain}" if bright else plain
