"""The status row of a running turn, and the small rows that stand above it.

Pure. `tick` counts tenths of a second; what it moves is the spinner and the band of light over
the state (docs/efr.md, "Status row").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from efr.cli.render.spans import (
    ACCENT,
    ERROR,
    MUTED,
    PLAIN,
    SUCCESS,
    WARNING,
    Line,
    Span,
    join,
    row,
    width,
)
from efr.cli.render.times import clock_text
from efr.cli.render.width import cells, cut, split_at

if TYPE_CHECKING:
    from efr.wire import types as t

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
STILL = "•"
OUTSIDE = "○"
_BAND = 3  # characters of the moving band
_REST_TICKS = 10  # one second between two runs of the band
_LEAST_STATE = 10  # columns that the state keeps before it loses more neighbours
_GAP = "  "


class Status(Struct, frozen=True):
    """What the row says. `elapsed_s` None: no time yet. `motion` False: nothing moves."""

    state: str
    elapsed_s: float | None = None
    context: t.ContextUse | None = None
    away: bool = False
    scope: str = ""
    motion: bool = True


def spinner(tick: int, *, motion: bool = True) -> str:
    """The sign that moves."""
    return SPINNER[tick % len(SPINNER)] if motion else STILL


def status_row(status: Status, tick: int, columns: int) -> Line:
    """The row, at most `columns` wide: scope, away, ctx and time go first, in this order."""
    ends: list[Line] = []
    if status.elapsed_s is not None and status.elapsed_s >= 1:
        ends.append(row(clock_text(status.elapsed_s), MUTED))
    if status.context is not None:
        ends.append(context_line(status.context))
    if status.away:
        ends.append(row("away", MUTED))
    if status.scope:
        ends.append(row(status.scope, MUTED))
    head = row(spinner(tick, motion=status.motion) + " ", ACCENT)
    wanted = min(cells(status.state), _LEAST_STATE)
    while ends and width(head) + wanted + _size(ends) > columns:
        ends.pop()
    state = cut(status.state, max(columns - width(head) - _size(ends), 0))
    if columns < 2 + min(wanted, 1):
        return row(spinner(tick, motion=status.motion)[:columns], ACCENT)
    tail = join(*((Span(_GAP), *end) for end in ends))
    return join(head, _banded(state, tick) if status.motion else row(state, MUTED), tail)


def _size(ends: list[Line]) -> int:
    return sum(width(end) + len(_GAP) for end in ends)


def _banded(state: str, tick: int) -> Line:
    """The muted state with the band where this tick has it."""
    length = cells(state)
    start = tick % (length + _BAND + _REST_TICKS) - _BAND
    before, rest = split_at(state, max(start, 0))
    lit, after = split_at(rest, min(_BAND, max(start + _BAND, 0)))
    return join(row(before, MUTED), row(lit, PLAIN), row(after, MUTED))


def context_percent(use: t.ContextUse) -> int:
    """Tokens as a percent of the limit, rounded down."""
    return use.tokens * 100 // use.limit if use.limit else 0


def context_text(use: t.ContextUse) -> str:
    """`ctx 43%`."""
    return f"ctx {context_percent(use)}%"


def context_line(use: t.ContextUse) -> Line:
    """`ctx 43%` in the colour of how near the limit is."""
    percent = context_percent(use)
    style = SUCCESS if percent < 50 else WARNING if percent < 90 else ERROR._replace(bold=True)
    return row(context_text(use), style)
