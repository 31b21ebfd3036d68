"""One row of the table, and how the table is printed."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Row(NamedTuple):
    """A measured value beside its yardstick; the ratio is what the project promises."""

    name: str
    value: str
    yardstick: str
    ratio: float | None = None


def median(measure: Callable[[], float], runs: int) -> float:
    """The median of several runs, after one that is not counted."""
    measure()
    return statistics.median(measure() for _ in range(runs))


def print_rows(rows: Iterable[Sequence[object]]) -> None:
    """One line a row, as soon as it is there."""
    for row in rows:
        name, value, yardstick, ratio = row
        shown = f"{ratio:6.2f}x" if isinstance(ratio, float | int) else "       "
        sys.stdout.write(f"{name!s:<58} {value!s:>14}  {shown}  {yardstick}\n")
        sys.stdout.flush()
