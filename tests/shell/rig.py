"""The rig of the hidden shell's tests: a real zsh with a throwaway home, on a real pty-reader.

Only ids, the recorder and those who watch are stand-ins; they record what they hear and let a test
wait for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from efr.base.cancel import Cancel
from efr.base.clock import Clock, SystemClock
from efr.shell.contract import (
    BusyCommand,
    CallEnd,
    InputWait,
    LeftEnd,
    ShellCall,
    ShellSettings,
)
from efr.shell.hidden import HiddenShell
from efr.shell.limits import LIMITS, Limits
from efr.shell.shells import Shells
from efr.shell.start import ShellDeps
from efr.threads.pty import PtyReader
from tests.harness.clock import CountingIds

_DEFAULTS = ShellSettings()
LIMIT_S = 20.0  # of every wait in these tests: a failure, not a pause
PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


class LateClock(SystemClock):
    """The machine's clock, set forward by hand."""

    late_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.late_s


class MemoryRecorder:
    """A recording in memory."""

    def __init__(self) -> None:
        self._data = bytearray()
        self.sizes: list[tuple[int, int]] = []
        self.closed = False

    @property
    def size(self) -> int:
        return len(self._data)

    @property
    def data(self) -> bytes:
        return bytes(self._data)

    def append(self, data: bytes) -> int:
        offset = len(self._data)
        self._data += data
        return offset

    def resize(self, cols: int, rows: int) -> None:
        self.sizes.append((cols, rows))

    def read(self, start: int, end: int) -> bytes:
        return bytes(self._data[start:end])

    def close(self) -> None:
        self.closed = True


class Heard:
    """What was reported, in order; a test waits for a report."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.all: list[tuple[object, ...]] = []

    def say(self, *what: object) -> None:
        with self._changed:
            self.all.append(what)
            self._changed.notify_all()

    def forget(self) -> None:
        """Forgets what was heard so far."""
        with self._changed:
            self.all.clear()

    def wait_for(self, *wanted: object, count: int = 1) -> tuple[object, ...]:
        """The report that begins like this, once there are `count` of them."""

        def found() -> list[tuple[object, ...]]:
            return [what for what in self.all if what[: len(wanted)] == wanted]

        with self._changed:
            there = self._changed.wait_for(lambda: len(found()) >= count, LIMIT_S)
            assert there, f"{wanted} was not reported; heard: {self.all}"
            return found()[count - 1]


class RecordingListener:
    """Hears about shells and commands left running."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard

    def started(self, conversation_id: str, pty_id: str, cwd: str, pid: int) -> None:
        self._heard.say("started", cwd, pid)

    def exited(self, conversation_id: str, pty_id: str, exit_code: int | None) -> None:
        self._heard.say("exited", exit_code)

    def cwd_changed(self, conversation_id: str, pty_id: str, cwd: str) -> None:
        self._heard.say("cwd", cwd)

    def left_behind(self, conversation_id: str, command: BusyCommand) -> None:
        self._heard.say("left", command.call_id, command)

    def left_input_changed(self, conversation_id: str, command: BusyCommand) -> None:
        self._heard.say("left_input", command.call_id, command.input)

    def left_ended(
        self, conversation_id: str, call_id: str, how: LeftEnd, exit_code: int | None
    ) -> None:
        self._heard.say("left_ended", call_id, how, exit_code)


class Watcher:
    """Watches one call. `answers` says whether somebody can type."""

    def __init__(self, heard: Heard, answers: bool = False) -> None:
        self._heard = heard
        self.answers = answers

    def output(self, tail: str, total_bytes: int) -> None:
        self._heard.say("output", tail, total_bytes)

    def input_changed(self, wait: InputWait, looks_secret: bool, prompt: str | None) -> None:
        self._heard.say("input", wait, looks_secret, prompt)

    def someone_can_answer(self) -> bool:
        return self.answers


@dataclass
class Rig:
    """One shell and everything around it."""

    home: Path
    shells: Shells
    recorders: list[MemoryRecorder]
    heard: Heard
    scratch: str
    limits: Limits
    pool: ThreadPoolExecutor
    cancels: dict[str, Cancel] = field(default_factory=dict)
    count: int = 0

    @property
    def recorded(self) -> bytes:
        """Everything that the newest shell printed."""
        return self.recorders[-1].data

    @property
    def shell(self) -> HiddenShell:
        return self.shells.for_conversation("c1", str(self.home), self.scratch)

    def start(
        self,
        line: str,
        timeout_s: float = LIMIT_S,
        *,
        answers: bool = False,
        interactive: bool = False,
        nested: bool = False,
        nonce: str | None = None,
        call_id: str | None = None,
        directory: str | None = None,
    ) -> Future[CallEnd]:
        """Runs a line on a thread of its own."""
        self.count += 1
        name = call_id or f"call{self.count}"
        cancel = self.cancels[name] = Cancel()
        call = ShellCall(name, line, timeout_s, interactive, nested, nonce, directory=directory)
        watcher = Watcher(self.heard, answers)
        return self.pool.submit(self.shell.run, call, cancel, watcher)

    def run(self, line: str, timeout_s: float = LIMIT_S, **options: bool | str | None) -> CallEnd:
        """Runs a line and waits for its end."""
        return self.start(line, timeout_s, **options).result(LIMIT_S)  # type: ignore[arg-type]


def _kept(recorder: MemoryRecorder, recorders: list[MemoryRecorder]) -> MemoryRecorder:
    recorders.append(recorder)
    return recorder


class World:
    """Makes rigs that share one pty-reader, and takes them down."""

    def __init__(self, tmp_path: Path) -> None:
        self._tmp_path = tmp_path
        self._reader = PtyReader()
        self._reader.start()
        self._rigs: list[Rig] = []

    def rig(
        self,
        *,
        zshrc: str = "",
        environment: Mapping[str, str] | None = None,
        settings: ShellSettings = _DEFAULTS,
        trusted: Callable[[], tuple[str, ...]] = tuple,
        clock: Clock | None = None,
        recorder: Callable[[], MemoryRecorder] = MemoryRecorder,
        **limits: float,
    ) -> Rig:
        base = self._tmp_path / f"rig{len(self._rigs)}"
        home = base / "home"
        home.mkdir(parents=True)
        (home / ".zshrc").write_text(zshrc)
        scratch = base / "scratch"
        scratch.mkdir()
        heard = Heard()
        recorders: list[MemoryRecorder] = []
        listener = RecordingListener(heard)
        user = {"HOME": str(home), "PATH": PATH, "LANG": "C.UTF-8", "USER": "tester"}
        user |= environment or {}
        numbers = replace(LIMITS, **limits)
        deps = ShellDeps(
            reader=self._reader,
            clock=clock or SystemClock(),
            ids=CountingIds(),
            nonce=lambda: os.urandom(16).hex(),
            recorder=lambda _pty_id: _kept(recorder(), recorders),
            listener=listener,
            left=listener,
            environment=lambda: user,
            settings=lambda: settings,
            zsh_dir=base / "zsh",
            trusted=trusted,
            limits=numbers,
        )
        shells = Shells(deps)
        rig = Rig(home, shells, recorders, heard, str(scratch), numbers, ThreadPoolExecutor(6))
        self._rigs.append(rig)
        return rig

    def close(self) -> None:
        for rig in self._rigs:
            for cancel in rig.cancels.values():
                cancel.cancel()
            late = rig.shells.stop_all(SystemClock().monotonic() + 10)
            rig.pool.shutdown()
            assert late == []
        self._reader.stop()
        assert not self._reader.is_alive()
