"""What an idle daemon holds in memory, beside a bare interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import psutil

from bench.live import pid_of, running
from bench.table import Row


def rows() -> Iterator[Row]:
    """One row: resident memory after start."""
    bare = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    )
    try:
        with running() as env:
            held = psutil.Process(pid_of(env)).memory_info().rss
        plain = psutil.Process(bare.pid).memory_info().rss
    finally:
        bare.communicate()
    yield Row(
        "idle daemon, resident memory",
        f"{held / 1e6:.1f} MB",
        f"of a bare interpreter, {plain / 1e6:.1f} MB",
        held / plain,
    )
