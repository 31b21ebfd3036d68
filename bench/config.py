"""Reading config.toml: every key set, read and checked whole, and an error with its place.

The yardstick is the standard library's bare parse of the same bytes. A command reads the file at
each run, so the first load of a fresh process counts too, with all that it imports.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.table import Row
from efr.config.errors import ConfigError
from efr.config.example import example
from efr.config.load import load, read

ROUNDS = 300
STARTS = 15

_FRESH = """
import sys, time
begin = time.process_time_ns()
{work}
print(time.process_time_ns() - begin)
"""
_LOAD = "from efr.config.load import load; load(sys.argv[1], {}, rules=False)"
_BARE = "import msgspec, tomllib; tomllib.loads(open(sys.argv[1]).read())"


def rows() -> Iterator[Row]:
    """Rows as they are measured."""
    text = re.sub(r"(?m)^#(?![: ])(?=.)", "", example())  # every key, in use
    wrong = f"{text}\n[shell.x]\n".encode()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        path.write_text(text)
        took, mistake, bare = _p50(
            lambda: load(path, {}), lambda: _refused(wrong), lambda: tomllib.loads(path.read_text())
        )
        yield _row("config load, every key set, p50", took, bare)
        yield _row("  with an error: its place and the nearest key", mistake, bare)
        first, parse = _starts(_LOAD, path), _starts(_BARE, path)
        yield Row(
            "  the first load of a command, with its imports",
            f"{first * 1e3:.1f} ms",
            f"of msgspec, tomllib and a bare parse there, {parse * 1e3:.1f} ms",
            first / parse,
        )


def _row(name: str, took: float, bare: float) -> Row:
    words = f"of tomllib over the same bytes, {bare * 1e3:.2f} ms"
    return Row(name, f"{took * 1e3:.2f} ms", words, took / bare)


def _refused(text: bytes) -> None:
    try:
        read(text)
    except ConfigError:
        return
    raise AssertionError("a broken file was read")


def _p50(*works: Callable[[], object]) -> list[float]:
    """Seconds of each, the median of many rounds in turn: a busy machine counts against all."""
    found: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, times in zip(works, found, strict=True):
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
    return [statistics.median(times) for times in found]


def _starts(work: str, path: Path) -> float:
    """Seconds of processor time in fresh processes, the median."""
    command = [sys.executable, "-c", _FRESH.format(work=work), str(path)]
    found = [
        int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        for _ in range(STARTS)
    ]
    return statistics.median(found) / 1e9
