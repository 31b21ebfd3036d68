"""Facts about processes, read from /proc (proc(5)). Any thread; each look costs one short read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from efr.agent.shell_life import ShellStart

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Process(Struct, frozen=True):
    """What /proc tells about a process. `start` is in clock ticks since the machine's start."""

    parent: int
    session: int
    start: int
    terminal: int = 0  # the number of its controlling terminal; 0: it has none


def read_process(pid: int, proc: Path = Path("/proc")) -> Process | None:
    """The process with that pid, or None when it is gone (a zombie counts as gone).

    Raises OSError when it cannot be read, such as without a free descriptor.
    """
    try:
        text = (proc / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the name before may hold anything
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return Process(
        parent=int(fields[1]),
        session=int(fields[3]),
        start=int(fields[19]),
        terminal=int(fields[4]),
    )


def start_us(pid: int, proc: Path = Path("/proc")) -> int | None:
    """When the process started, as UTC microseconds; None when it is gone.

    Up to a second too early: the kernel tells the machine's start in whole seconds (`btime`).
    """
    process = read_process(pid, proc)
    if process is None:
        return None
    for line in (proc / "stat").read_bytes().splitlines():
        if line.startswith(b"btime "):
            return int(line.split()[1]) * 1_000_000 + process.start * 1_000_000 // _TICKS_PER_S
    return None


def shell_start(pid: int) -> ShellStart | None:
    """When a terminal's shell started; None when it is gone."""
    process, at_us = read_process(pid), start_us(pid)
    return None if process is None or at_us is None else ShellStart(process.start, at_us)


def terminal_number(tty: str) -> int | None:
    """The number of a terminal as /proc writes it; None when there is no such device."""
    if not tty.startswith("/dev/") or ".." in tty:
        return None
    try:
        found = os.stat(tty)
    except (OSError, ValueError):
        return None
    if not stat.S_ISCHR(found.st_mode):
        return None
    major, minor = os.major(found.st_rdev), os.minor(found.st_rdev)
    return (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)


def first_shell(
    pid: int,
    tty: str,
    look: Callable[[int], Process | None] = read_process,
    number: Callable[[str], int | None] = terminal_number,
) -> int:
    """The process that the terminal of a shell was opened with: it leads the shell's session.

    A shell inside another one is in the same session. The kernel gives the leader's number to
    nobody else while the session has a process. It is `pid` itself where nobody can say.
    """
    shell = look(pid) if pid > 0 else None
    if shell is None or shell.terminal != number(tty):
        return pid
    leader = look(shell.session) if shell.session > 0 else None
    if leader is None or leader.terminal != shell.terminal:
        return pid
    return shell.session


def dead_children(parent: int, proc: Path = Path("/proc")) -> set[int]:
    """Children of `parent` that ended and that nobody has waited for."""
    found = set()
    for name in os.listdir(proc):
        if not name.isdigit():
            continue
        try:
            text = (proc / name / "stat").read_bytes()
        except OSError:
            continue  # gone meanwhile
        fields = text[text.rfind(b")") + 2 :].split()
        if fields[0] == b"Z" and int(fields[1]) == parent:
            found.add(int(name))
    return found
