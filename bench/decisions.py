"""What a decision costs: everyday lines, and lines of 64 KiB that are made to hurt.

A decision is all of it: the line is split, its paths and hints are found, it is read, and judged by
the rules of a turn in a project. The yardstick is `shlex.split` of the same line, the least that
anybody does with one. The best of some runs stands for a line, so that the numbers are those of the
code and not of the machine's other work.
"""

from __future__ import annotations

import shlex
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Final

from bench.table import Row
from efr.policy.engine import decide
from efr.policy.lines.split import split_line
from efr.policy.needs import Place
from efr.tools.contract import Where
from efr.tools.shell import ShellTool
from tests.policy.everyday import lines

HOME: Final = "/home/u"
PROJECT: Final = f"{HOME}/p/app"
PLACE: Final = Place(
    HOME, HOME, f"{HOME}/.config/efr", f"{HOME}/.local/share/efr", project_root=PROJECT
)
WHERE: Final = Where(PROJECT, PROJECT, HOME)
LONG: Final = 64 * 1024
RUNS: Final = 7
# Pieces that a line of 64 KiB repeats: each is the worst for one part of the reading.
PIECES: Final = (
    *("cd a;", "cat a ", "a:", "'x' ", "\\a", "sudo ", "ln a b;", "$(", "`", "*", "{", "x=y "),
    *("cat <<E\n", "echo hello; ", '"a" ', "ls $(x) ", "rm -rf a;", "cat <<E\n$(x)\n"),
)


def rows() -> Iterator[Row]:
    """Rows as they are measured."""
    tool = ShellTool()

    def decision(line: str) -> None:
        split_line.cache_clear()
        decide(tool.declare({"command": line}, WHERE), "cautious", "shell", PLACE)

    everyday = [one.line for one in lines()]
    ours = [_best(decision, line) for line in everyday]
    plain = [_best(_plain, line) for line in everyday]
    for name, share in (("p50", 0.50), ("p99", 0.99)):
        mine, theirs = _share(ours, share), _share(plain, share)
        yield Row(
            f"a decision on an everyday line, {name} of {len(everyday)}",
            f"{mine * 1e6:.0f} us",
            f"of shlex.split, {theirs * 1e6:.0f} us",
            mine / theirs,
        )
    long = {piece: piece * (LONG // len(piece)) for piece in PIECES}
    worst = max(PIECES, key=lambda piece: _best(decision, long[piece]))
    mine, theirs = _best(decision, long[worst]), _best(_plain, long[worst])
    yield Row(
        f"the slowest of {len(PIECES)} lines of 64 KiB ({worst!r}…)",
        f"{mine * 1e3:.0f} ms",
        f"of shlex.split, {theirs * 1e3:.0f} ms",
        mine / theirs,
    )


def _plain(line: str) -> None:
    try:
        shlex.split(line)
    except ValueError:
        return  # an open quote


def _best(run: Callable[[str], None], line: str) -> float:
    """Seconds; the best of some runs."""
    times = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        run(line)
        times.append(time.perf_counter() - begun)
    return min(times)


def _share(times: list[float], share: float) -> float:
    if share == 0.5:
        return statistics.median(times)
    return sorted(times)[int(len(times) * share)]
