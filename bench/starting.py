"""The daemon's start with a long history, beside its start with none: until READY=1."""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.table import Row
from scripts.run import daemon, make_env, write_config

ROUNDS: Final = 7


def rows(filled: Path) -> Iterator[Row]:
    """`filled` is a store that nobody has open."""
    with TemporaryDirectory(prefix="efr-", dir="/tmp") as name:
        homes = {True: Path(name) / "filled", False: Path(name) / "empty"}
        for home in homes.values():
            home.mkdir(mode=0o700)
            write_config(home, "demo")
        (homes[True] / "data").mkdir(mode=0o700)
        shutil.copy(filled, homes[True] / "data" / "efr.sqlite")
        taken: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(ROUNDS + 1):
            for is_filled, home in homes.items():
                taken[is_filled].append(seconds_to_ready(home))
        long, short = (statistics.median(taken[which][1:]) for which in (True, False))
    size = f"{filled.stat().st_size / 1e6:.0f} MB"
    yield Row(
        f"start of efrd with a store of {size}",
        f"{long * 1000:.0f} ms",
        f"of the start with an empty one, {short * 1000:.0f} ms; limit 1.5x",
        long / short,
    )


def seconds_to_ready(home: Path) -> float:
    """From the start of the process; it is stopped again."""
    env = {**make_env(home, dict(os.environ)), "HOME": str(home)}
    (home / "ready").unlink(missing_ok=True)
    began = time.perf_counter()
    with daemon(home, env):
        return time.perf_counter() - began
