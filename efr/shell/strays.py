"""Processes that hidden shells started and that outlive them, and their end.

The kernel hangs up the program in front when its shell ends. What ignores that is killed a while
later, with all below it: nobody can reach it any more. What was started into the background stays
until efrd ends. A process is known by its session and group, or by its environment, which names the
shells' directory; one that changed both is nobody's. What systemd has in another unit than efrd is
that unit's: it was put there to stay, or only got the environment from systemd. Facts come from
/proc (proc(5), cgroups(7)).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import select
import signal
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

log = logging.getLogger("efr.shell")

_ROUNDS: Final = 5  # looks at a tree that grows while it is killed
_UNIT: Final = re.compile(rb"^(?:0:|[0-9]+:name=systemd):(/.*\.(?:service|scope))(?:/|$)", re.M)


class Stray(NamedTuple):
    """A process; `start` tells it from a later one with its number."""

    pid: int
    parent: int
    group: int
    session: int
    start: int


class Strays:
    """Programs whose shell is gone, until they are. Any thread."""

    def __init__(self, now: Callable[[], float], grace_s: float) -> None:
        self._now = now
        self._grace_s = grace_s  # to write files and end
        self._lock = threading.Lock()  # "strays"
        self._kept: list[tuple[float, list[Stray]]] = []  # when they are due

    def left_by(self, shell: int, group: int | None) -> None:
        """The shell ends while this group is in front."""
        found = _program(shell, group) if group is not None and group != shell else []
        if found:
            with self._lock:
                self._kept.append((self._now() + self._grace_s, found))

    def tend(self) -> bool:
        """Kills what is due; says whether more will be."""
        now = self._now()
        with self._lock:
            due = [one for at, found in self._kept if now >= at for one in found]
            self._kept = [kept for kept in self._kept if now < kept[0]]
            waits = bool(self._kept)
        if due:
            _end(lambda: _still(due))
        return waits


def _program(session: int, group: int) -> list[Stray]:
    """The processes of a group, and all below them."""
    every = _processes()
    return _with_all_below(
        (one for one in every if (one.session, one.group) == (session, group)), every
    )


def _still(known: list[Stray]) -> list[Stray]:
    """Those of them that are there, and all below them."""
    every = _processes()
    starts = {(one.pid, one.start) for one in known}
    return _with_all_below((one for one in every if (one.pid, one.start) in starts), every)


def started_below(directory: Path, variable: str = "") -> list[Stray]:
    """What the shells of this directory started, and all below it; not this process, nor one that
    it descends from, nor what is in another unit. A process is known by its environment: a
    variable, this one or any, leads below the directory."""
    every = _processes()
    unit = unit_of(_told(os.getpid(), "cgroup"))
    ours = {one.pid: one for one in every}
    above, pid = set[int](), os.getpid()
    while pid in ours and pid not in above:
        above.add(pid)
        pid = ours[pid].parent
    mark = os.fsencode(f"{variable}={directory}/")
    marked = (one for one in every if one.pid not in above and mark in _told(one.pid, "environ"))
    return [
        one
        for one in _with_all_below(marked, every)
        if one.pid not in above and unit_of(_told(one.pid, "cgroup")) == unit
    ]


def end_started_below(directory: Path, grace_s: float, variable: str = "") -> int:
    """Asks them to end, and kills what does not within the grace; without one it asks nobody.
    Returns how many were killed. Blocks."""
    found = started_below(directory, variable)
    if not found:
        return 0
    if grace_s > 0:
        for one in found:
            _send(one, signal.SIGTERM)
        _wait_gone(found, grace_s)
    return _end(lambda: started_below(directory, variable))


def _end(find: Callable[[], list[Stray]]) -> int:
    killed = set[Stray]()
    for _ in range(_ROUNDS):
        found = [one for one in find() if one not in killed]
        if not found:
            break
        for one in found:
            _send(one, signal.SIGKILL)
        killed.update(found)
    if killed:
        log.info("%d processes that outlived their shell were killed", len(killed))
    return len(killed)


def _send(stray: Stray, number: signal.Signals) -> None:
    try:
        handle = os.pidfd_open(stray.pid)
    except OSError:
        return
    try:
        found = _read(stray.pid)  # after the handle: they are of one process, or it is gone
        if found is not None and found.start == stray.start:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


def _wait_gone(strays: Iterable[Stray], timeout_s: float) -> None:
    """Blocks until one after the other is gone, each for at most that long."""
    for stray in strays:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            handle = os.pidfd_open(stray.pid)
            stack.callback(os.close, handle)
            if not select.select([handle], [], [], timeout_s)[0]:
                return  # it means to stay, and so may the rest


def _with_all_below(first: Iterable[Stray], every: list[Stray]) -> list[Stray]:
    children: dict[int, list[Stray]] = {}
    for one in every:
        children.setdefault(one.parent, []).append(one)
    found: dict[int, Stray] = {}
    waiting = list(first)
    while waiting:
        one = waiting.pop()
        if one.pid not in found:
            found[one.pid] = one
            waiting += children.get(one.pid, [])
    return list(found.values())


def _processes() -> list[Stray]:
    found = (_read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [one for one in found if one is not None]


def _read(pid: int) -> Stray | None:
    """None when it is gone, or dead and not waited for."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text[text.rfind(b")") + 2 :].split()  # the name before may hold anything
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return Stray(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def unit_of(cgroup: bytes) -> bytes:
    """The innermost unit of systemd in the text of /proc/PID/cgroup; empty without one."""
    found = _UNIT.search(cgroup)
    return b"" if found is None else found[1]


def _told(pid: int, name: str) -> bytes:
    """A file of a process; empty when that cannot be read."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
