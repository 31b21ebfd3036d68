"""A hidden shell beside a bare PTY reader: 50 MB of build output, and the time of a small call.

The yardstick opens a PTY, runs `cat` of the same file on it and reads until the end. The hidden
shell runs `cat` of the file as a call: recording (the real one), mark search, the call's text, and
the screen brought up to date at the end. Rounds alternate, so other work on the machine meets both
alike.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyte

from bench.table import Row
from efr.base.cancel import Cancel
from efr.base.clock import SystemClock
from efr.base.ids import SystemIds
from efr.shell.contract import (
    BusyCommand,
    CallEnd,
    InputWait,
    LeftEnd,
    ShellCall,
    ShellSettings,
)
from efr.shell.hidden import HiddenShell
from efr.shell.lazy import LazyScreen
from efr.shell.scanner import Scanner
from efr.shell.shells import Shells
from efr.shell.start import ShellDeps
from efr.store.recordings import RecordingWriter
from efr.threads.pty import PtyReader
from efr.threads.recording_flusher import RecordingFlusher

SIZE: Final = 50_000_000
ROUNDS: Final = 9
CALLS: Final = 50
PATH: Final = "/usr/local/bin:/usr/bin:/bin"


def rows() -> Iterator[Row]:
    """Rows in the order of the table."""
    with TemporaryDirectory() as name, hidden_shell(Path(name)) as shell:
        log = Path(name) / "build.log"
        write_log(log)
        run(shell, "true")
        bare, hidden = [], []
        for _ in range(ROUNDS):
            bare.append(timed(lambda: read_bare(log)))
            hidden.append(timed(lambda: read_hidden(shell, log)))
        ratio = statistics.median(h / b for h, b in zip(hidden, bare, strict=True))
        yard = f"of a bare PTY reader, {statistics.median(bare):.2f} s"
        value = f"{statistics.median(hidden):.2f} s"
        yield Row("50 MB of build output, recorded, with the screen", value, yard, ratio)
        yield screen_alone(log)
        yield small_calls(shell)


def write_log(path: Path) -> None:
    """Build output: compiler lines, every fifth with colours."""
    with path.open("wb") as file:
        number = 0
        while file.tell() < SIZE:
            block = []
            for _ in range(1000):
                number += 1
                if number % 5 == 0:
                    block.append(
                        "\x1b[32m   Compiling\x1b[0m part v1.2.3 (/home/u/src/part/core)\n"
                    )
                else:
                    name = f"module_{number:07d}"
                    block.append(f"cc -O2 -Wall -c src/{name}.c -o build/{name}.o -I include\n")
            file.write("".join(block).encode())


def read_bare(log: Path) -> None:
    """What any program that reads a PTY has to do."""
    master, slave = os.openpty()
    actions = [(os.POSIX_SPAWN_DUP2, slave, 1)]
    pid = os.posix_spawn("/bin/cat", ["cat", str(log)], {}, file_actions=actions)
    os.close(slave)
    size = 0
    try:
        while data := os.read(master, 1 << 16):
            size += len(data)
    except OSError:  # EIO: cat is done
        pass
    os.close(master)
    os.waitpid(pid, 0)
    assert size > SIZE


def read_hidden(shell: HiddenShell, log: Path) -> None:
    """The same as a call."""
    end = run(shell, f"cat {log}")
    assert end.truncated
    assert any("Compiling part" in row for row in shell.screen_rows(4))


def screen_alone(log: Path) -> Row:
    """The screen after 50 MB that are at hand, beside pyte's for a part of it."""
    data = log.read_bytes().replace(b"\n", b"\r\n")
    part = data[:1_000_000]
    screen = pyte.ByteStream(pyte.Screen(160, 48))
    slow = timed(lambda: screen.feed(part)) * len(data) / len(part)

    def ours() -> None:
        scanner = Scanner()
        for at in range(0, len(data), 1 << 16):
            scanner.feed(data[at : at + (1 << 16)])
        lazy = LazyScreen(160, 48)
        lazy.catch_up(lambda a, b: data[a:b], len(data), (*scanner.runs, scanner.open_run))

    fast = statistics.median(timed(ours) for _ in range(3))
    return Row(
        "mark search and screen of 50 MB at hand",
        f"{fast:.3f} s",
        f"of pyte, {slow:.0f} s",
        fast / slow,
    )


def small_calls(shell: HiddenShell) -> Row:
    """One call of `true`, beside a process of its own for it."""
    env = {"PATH": PATH, "HOME": "/"}

    def one_process() -> None:
        subprocess.run(["zsh", "-f", "-c", "true"], env=env, check=True)

    bare = statistics.median(timed(one_process) for _ in range(CALLS))
    ours = statistics.median(timed(lambda: run(shell, "true")) for _ in range(CALLS))
    yard = f"of zsh -f -c true, {bare * 1000:.1f} ms"
    return Row("a call of true in a running shell", f"{ours * 1000:.1f} ms", yard, ours / bare)


def run(shell: HiddenShell, line: str) -> CallEnd:
    """Runs a line that has to end well."""
    end = shell.run(ShellCall("bench", line, 600), Cancel(), Nobody())
    assert (end.kind, end.exit_code) == ("exited", 0), end
    return end


def timed(work: Callable[[], object]) -> float:
    """Seconds that it takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextmanager
def hidden_shell(root: Path) -> Iterator[HiddenShell]:
    """A hidden shell with a home of its own and a real recording."""
    clock = SystemClock()
    reader = PtyReader()
    reader.start()
    flusher = RecordingFlusher(print)
    flusher.start()
    home = root / "home"
    home.mkdir()
    user: Mapping[str, str] = {"HOME": str(home), "PATH": PATH, "LANG": "C.UTF-8"}
    nobody = Nobody()
    shells = Shells(
        ShellDeps(
            reader=reader,
            clock=clock,
            ids=SystemIds(clock),
            nonce=lambda: os.urandom(16).hex(),
            recorder=lambda pty_id: RecordingWriter(
                root / "recordings", pty_id, clock, flush=flusher.flush
            ),
            listener=nobody,
            left=nobody,
            environment=lambda: user,
            settings=ShellSettings,
            zsh_dir=root / "zsh",
        )
    )
    try:
        yield shells.for_conversation("bench", str(home), None)
    finally:
        shells.stop_all(clock.monotonic() + 10)
        reader.stop()
        flusher.stop()


class Nobody:
    """Hears everything and does nothing."""

    def started(self, conversation_id: str, pty_id: str, cwd: str, pid: int) -> None: ...

    def exited(self, conversation_id: str, pty_id: str, exit_code: int | None) -> None: ...

    def cwd_changed(self, conversation_id: str, pty_id: str, cwd: str) -> None: ...

    def left_behind(self, conversation_id: str, command: BusyCommand) -> None: ...

    def left_input_changed(self, conversation_id: str, command: BusyCommand) -> None: ...

    def left_ended(
        self, conversation_id: str, call_id: str, how: LeftEnd, exit_code: int | None
    ) -> None: ...

    def output(self, tail: str, total_bytes: int) -> None: ...

    def input_changed(self, wait: InputWait, looks_secret: bool, prompt: str | None) -> None: ...

    def someone_can_answer(self) -> bool:
        return False
