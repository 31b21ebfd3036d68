"""From the start of `efr send` to its first frame at the daemon, beside a bare interpreter.

The daemon here is a listening socket: what counts is when the bytes of hello and of the prompt
are there. Each run is a process of its own, as for every `,` line.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.table import Row

ROOT = Path(__file__).parents[1]
RUNS = 15
LIMIT_S = 20.0
# What the console script of the wheel does.
EFR = (sys.executable, "-c", "import sys; from efr_cli import main; sys.argv[0] = 'efr'; main()")


def rows() -> Iterator[Row]:
    """Each way to the first frame, as a multiple of a bare interpreter's start and end."""
    with tempfile.TemporaryDirectory(prefix="efr-", dir="/tmp") as folder:
        env = environment(folder)
        with Listener(folder) as listener:
            bare = [timed(lambda: run_bare(env))]
            ways = {
                "efr send (the plugin's call) to its first frame": ["send"],
                "efr send <words> to its first frame": ["send", "hello", "there"],
            }
            times: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(RUNS):
                bare.append(timed(lambda: run_bare(env)))
                for name, args in ways.items():
                    times[name].append(to_first_frame(listener, args, env))
            yardstick = statistics.median(bare[1:])
            for name, taken in times.items():
                yield row(name, statistics.median(taken), yardstick)
        version = statistics.median(timed(lambda: run_version(env)) for _ in range(RUNS))
        yield row("efr version, whole", version, yardstick)


def row(name: str, taken: float, yardstick: float) -> Row:
    """A time beside the bare interpreter's."""
    bare = f"of a bare interpreter, {yardstick * 1000:.1f} ms"
    return Row(name, f"{taken * 1000:.1f} ms", bare, taken / yardstick)


def environment(folder: str) -> dict[str, str]:
    """An environment that leads to the listener."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": folder,
        "PYTHONPATH": str(ROOT),
        "EFR_RUNTIME_DIR": folder,
        "EFR_PROMPT": "why is the disk full",
        "EFR_CONTEXT": f'{{"pwd":"{folder}","tty":"/dev/pts/3","shell_pid":4242}}',
    }


class Listener:
    """The daemon's socket."""

    def __init__(self, folder: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(f"{folder}/daemon.sock")
        self._socket.listen(4)
        self._socket.settimeout(LIMIT_S)

    def first_frames(self) -> float:
        """Blocks until hello and the prompt are there; the time of the last byte. Hangs up."""
        connection, _ = self._socket.accept()
        with connection:
            connection.settimeout(LIMIT_S)
            data = b""
            while data.count(b'"method":') < 2 or not data.endswith(b"}}"):
                part = connection.recv(65536)
                if not part:
                    raise AssertionError(f"efr hung up after {data!r}")
                data += part
            return time.perf_counter()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()


def to_first_frame(listener: Listener, args: list[str], env: dict[str, str]) -> float:
    """Seconds from the start of the process to its frames at the daemon."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [*EFR, *args],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    took = listener.first_frames() - begin
    process.wait(LIMIT_S)
    return took


def run_bare(env: dict[str, str]) -> None:
    """An interpreter that does nothing."""
    subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)


def run_version(env: dict[str, str]) -> None:
    """The smallest command there is."""
    subprocess.run([*EFR, "version"], env=env, check=True, stdout=subprocess.DEVNULL)


def timed(work: Callable[[], None]) -> float:
    """Seconds that `work` takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
