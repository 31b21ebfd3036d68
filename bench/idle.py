"""What an idle daemon holds in memory, and what it does when nothing happens.

Five conversations with a hidden shell each, and somebody who follows each of them. After a while in
which what they left behind is settled, the daemon's processor time and its writes are counted for
EFR_BENCH_IDLE_S seconds: 20 unless set, 180 for the number that counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from bench.fanout import Reader
from bench.live import pid_of, running
from bench.table import Row
from efr.client import connect

CONVERSATIONS: Final = 5
SETTLE_S: Final = 10.0  # the search index takes the last texts in, the log is moved
IDLE_S: Final = float(os.environ.get("EFR_BENCH_IDLE_S", "20"))
LIMIT: Final = 0.002  # of one processor


def rows() -> Iterator[Row]:
    """Resident memory after the start; processor and disk of an idle daemon."""
    with running() as env:
        yield memory(env)
        readers = conversations(env)
        wait(SETTLE_S)
        before = used(pid_of(env))
        wait(IDLE_S)
        spent = used(pid_of(env)).since(before)
        for reader in readers:
            reader.close()
    share = spent.processor_s / spent.seconds
    yield Row(
        f"{CONVERSATIONS} idle conversations for {spent.seconds:.0f} s, processor",
        f"{share:.3%}",
        f"limit {LIMIT:.1%}",
        share / LIMIT,
    )
    yield Row("  written to the disk", f"{spent.written} bytes", f"in {spent.writes} writes")


def memory(env: dict[str, str]) -> Row:
    """Beside a bare interpreter."""
    bare = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert bare.stdout is not None
        bare.stdout.readline()
        held = psutil.Process(pid_of(env)).memory_info().rss
        plain = psutil.Process(bare.pid).memory_info().rss
    finally:
        bare.communicate()
    return Row(
        "idle daemon, resident memory",
        f"{held / 1e6:.1f} MB",
        f"of a bare interpreter, {plain / 1e6:.1f} MB",
        held / plain,
    )


def conversations(env: dict[str, str]) -> list[Reader]:
    """Each with a turn that is over, a shell at its prompt and a follower."""
    readers = []
    with connect(env) as efr:
        for _ in range(CONVERSATIONS):
            sent = efr.call("prompt.send", text="run: pwd", new_conversation=True)
            reader = Reader(env, sent.conversation_id)
            reader.read_until(b'"kind":"turn_completed"')
            readers.append(reader)
    return readers


def wait(seconds: float) -> None:
    """Does nothing."""
    threading.Event().wait(seconds)


class Used(NamedTuple):
    """What a process used so far."""

    seconds: float
    processor_s: float
    written: int
    writes: int

    def since(self, before: Used) -> Used:
        """The difference."""
        return Used(
            self.seconds - before.seconds,
            self.processor_s - before.processor_s,
            self.written - before.written,
            self.writes - before.writes,
        )


def used(pid: int) -> Used:
    """From /proc; see proc(5), `stat` and `io`."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(stat[11]) + int(stat[12])
    lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    io = {name: int(value) for name, value in (line.split(": ") for line in lines)}
    processor_s = ticks / os.sysconf("SC_CLK_TCK")
    return Used(time.monotonic(), processor_s, io["write_bytes"], io["syscw"])
