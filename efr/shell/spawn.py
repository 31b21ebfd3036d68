"""Starts a shell on a PTY of its own, and knows nothing about what it will say.

The child leads a new session, has the PTY as controlling terminal on descriptors 0, 1 and 2, and
every other descriptor closed. Blocks until the program runs (some 20 ms); any thread may call.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import struct
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from efr.shell.errors import ShellDidNotStart

_LAUNCH: Final = str(Path(__file__).with_name("launch.py"))
_IUTF8: Final = 0x4000  # termios(3); the standard library does not name it
_START_LIMIT_S: Final = 10.0  # an interpreter that does not come up is a broken machine


class Program(Struct, frozen=True):
    """What to run, where, and with which whole environment."""

    program: str
    arguments: Sequence[str]
    directory: str
    environment: Mapping[str, str]


class Spawned(Struct, frozen=True):
    """The child's pid and the PTY's master, not blocking, closed on exec."""

    pid: int
    master: int


def find_program(name: str | None, path: str | None) -> str:
    """The shell's program: `name`, else zsh on the user's PATH. Raises ShellDidNotStart."""
    found = shutil.which(name or "zsh", path=path)
    if found is None:
        raise ShellDidNotStart(name or "zsh", "not found")
    return found


def spawn(what: Program, columns: int, rows: int) -> Spawned:
    """Runs it. Raises ShellDidNotStart with the system's reason."""
    with contextlib.ExitStack() as undo:
        master, slave = os.openpty()
        undo.callback(os.close, slave)
        close_master = contextlib.ExitStack()
        close_master.callback(os.close, master)
        undo.push(close_master)
        _set_up(slave, columns, rows)
        os.set_blocking(master, False)
        plan = _out_of_the_way(os.memfd_create("efr-shell"))
        undo.callback(os.close, plan)
        _write_plan(plan, what)
        failure, failure_end = os.pipe()
        undo.callback(os.close, failure)
        failure_end = _out_of_the_way(failure_end)
        try:
            pid = _spawn(os.ttyname(slave), plan, failure_end)
        finally:
            os.close(failure_end)
        why = _read_failure(failure)
        if why is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise ShellDidNotStart(what.program, why)
        close_master.pop_all()
        return Spawned(pid, master)


def _spawn(tty: str, plan: int, failure: int) -> int:
    # A session leader that opens a terminal gets it as its controlling terminal (open(2)).
    return os.posix_spawn(
        sys.executable,
        [sys.executable, "-I", "-S", _LAUNCH],
        {},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, tty, os.O_RDWR, 0),
            (os.POSIX_SPAWN_DUP2, 0, 1),
            (os.POSIX_SPAWN_DUP2, 0, 2),
            (os.POSIX_SPAWN_DUP2, plan, 3),
            (os.POSIX_SPAWN_DUP2, failure, 4),
        ],
        setsid=True,
        setsigmask=(),
    )


def _set_up(slave: int, columns: int, rows: int) -> None:
    modes = termios.tcgetattr(slave)
    # Without IXON: a Ctrl+S of somebody who is attached would stop the shell for everybody.
    modes[0] = (modes[0] | _IUTF8) & ~termios.IXON
    termios.tcsetattr(slave, termios.TCSANOW, modes)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _out_of_the_way(descriptor: int) -> int:
    """The same file on a number that none of the child's descriptors 0 to 4 takes."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


def _write_plan(plan: int, what: Program) -> None:
    data = json.dumps(
        {
            "program": what.program,
            "arguments": list(what.arguments),
            "directory": what.directory,
            "environment": dict(what.environment),
        }
    ).encode()
    while data:
        data = data[os.write(plan, data) :]
    os.lseek(plan, 0, os.SEEK_SET)


def _read_failure(failure: int) -> str | None:
    """What the child says went wrong; None when the program runs (its end of the pipe closed)."""
    poll = select.poll()
    poll.register(failure, select.POLLIN)
    if not poll.poll(_START_LIMIT_S * 1000):
        return "did not start in time"
    text = os.read(failure, 1024)
    return text.decode("utf-8", "replace") if text else None
