"""Runs git on a shadow store: its own repository, its own index, and none of anybody's settings.

The model can write the work tree that git looks at here, so nothing in it may run a program: no
hooks, no monitor, no filter, no text conversion, no external diff; no settings but the store's.
What git prints goes to memory and not through a pipe, so two runs can go on beside each other.
Blocks; any thread. Source: git(1), "Environment variables"; gitattributes(5).
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.snapshots.errors import GitFailed, GitMissing, GitTimedOut

PLAIN: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "LC_ALL": "C",
    # glibc keeps what zlib lets go of: without them each new file costs four calls of brk(2) and
    # new pages, a third of the time of a first snapshot (mallopt(3)).
    "MALLOC_TOP_PAD_": str(64 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}
SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "core.quotePath=false",
    "core.protectNTFS=false",  # names that are odd elsewhere are plain here
    "core.protectHFS=false",
    "core.packedGitLimit=64m",
    "core.compression=1",  # a turn waits for it; the sixth level takes twice as long
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.allow=never",
    "diff.external=",
    "diff.mnemonicPrefix=false",
    "diff.noprefix=false",
    "submodule.recurse=false",
)
_STDERR_CHARS: Final = 300  # of git's complaint, for the log


class Budget(Struct, frozen=True):
    """How long the work of one caller may take altogether, and what ends it earlier."""

    clock: Clock
    deadline: float  # monotonic
    cancel: Cancel | None = None

    @property
    def left_s(self) -> float:
        return max(0.0, self.deadline - self.clock.monotonic())

    def at_most(self, seconds: float) -> Budget:
        """The same with less time."""
        return Budget(self.clock, min(self.deadline, self.clock.monotonic() + seconds), self.cancel)


class GitRun:
    """One git that runs. `finish` is called once, or `stop`."""

    def __init__(self, process: subprocess.Popen[bytes], out: IO[bytes], what: str) -> None:
        self._process = process
        self._out = out
        self._what = what

    def finish(self, budget: Budget, ok: Sequence[int] = (0,)) -> bytes:
        """What it printed. Raises GitFailed, GitTimedOut, Cancelled."""
        forget = budget.cancel.on_cancel(self._kill) if budget.cancel else None
        try:
            try:
                _, told = self._process.communicate(timeout=budget.left_s)
            except subprocess.TimeoutExpired as exc:
                raise GitTimedOut(self._what) from exc
            if budget.cancel is not None:
                budget.cancel.raise_if_cancelled()
            if self._process.returncode not in ok:
                why = told.decode("utf-8", "replace").strip()[:_STDERR_CHARS]
                raise GitFailed(f"git {self._what}: {why or self._process.returncode}")
            self._out.seek(0)
            return self._out.read()
        finally:
            if forget is not None:
                forget()
            self.stop()

    def stop(self) -> None:
        """Kills what still runs, and lets everything go."""
        with self._process:
            self._kill()
        self._out.close()

    def _kill(self) -> None:
        _kill(self._process)


class Git:
    """git on one store. `path` is where it is looked for."""

    def __init__(self, store: Path, index: Path, root: str | None, path: str) -> None:
        """`root`: the directory that is looked at; None: only the store is."""
        self.store = store
        self.index = index
        self.root = root
        self._path = path

    def with_index(self, index: Path) -> Git:
        """The same with another index."""
        return Git(self.store, index, self.root, self._path)

    def run(
        self,
        *arguments: str,
        budget: Budget,
        given: bytes = b"",
        settings: Sequence[str] = (),
        ok: Sequence[int] = (0,),
    ) -> bytes:
        """What git prints. Raises GitFailed, GitTimedOut, Cancelled."""
        run = self.start(*arguments, given=given, settings=settings)
        return run.finish(budget, ok)

    def start(self, *arguments: str, given: bytes = b"", settings: Sequence[str] = ()) -> GitRun:
        """Starts it and goes on. Raises GitMissing."""
        out = _memory()
        try:
            with _memory(given) as words:
                process = self._open(arguments, settings, words, out)
        except OSError as exc:
            out.close()
            raise GitMissing(f"git does not start: {exc}") from exc
        return GitRun(process, out, arguments[0])

    def lines(self, *arguments: str, budget: Budget, take: Callable[[bytes], None]) -> None:
        """Gives what git prints to `take`, piece by piece. Raises GitFailed, GitTimedOut."""
        try:
            process = self._open(arguments, (), subprocess.DEVNULL, subprocess.PIPE)
        except OSError as exc:
            raise GitMissing(f"git does not start: {exc}") from exc
        with process:
            try:
                _read(process, budget, take)
            except BaseException:
                _kill(process)
                raise
        if process.returncode != 0:
            raise GitFailed(f"git {arguments[0]} ended with {process.returncode}")

    def _open(
        self,
        arguments: Sequence[str],
        settings: Sequence[str],
        given: IO[bytes] | int,
        out: IO[bytes] | int,
    ) -> subprocess.Popen[bytes]:
        flags = [word for one in (*SETTINGS, *settings) for word in ("-c", one)]
        return subprocess.Popen(
            ["git", *flags, *arguments],
            env=self._environment(),
            stdin=given,
            stdout=out,
            stderr=subprocess.PIPE if out != subprocess.PIPE else subprocess.DEVNULL,
            cwd=self.root or "/",
            process_group=0,  # git has children of its own, which go with it
        )

    def _environment(self) -> Mapping[str, str]:
        places = {"GIT_DIR": str(self.store), "GIT_INDEX_FILE": str(self.index)}
        if self.root is not None:
            places["GIT_WORK_TREE"] = self.root
        return {**PLAIN, **places, "PATH": self._path, "HOME": str(self.store)}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends git and its children, unless it has ended: its number may be another's then."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _memory(content: bytes = b"") -> IO[bytes]:
    """A file without a name, with this content, at its start."""
    file = os.fdopen(os.memfd_create("efr-git", os.MFD_CLOEXEC), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _read(process: subprocess.Popen[bytes], budget: Budget, take: Callable[[bytes], None]) -> None:
    """Reads to the end; kills a process that takes too long."""
    assert process.stdout is not None  # it was asked for
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(budget.left_s):
                raise GitTimedOut("diff")
            piece = os.read(process.stdout.fileno(), 1 << 18)
            if not piece:
                break
            take(piece)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=max(1.0, budget.left_s))
