"""Whether a terminal's shell is still the process it was.

A process number comes again after its process ended. While efrd runs it remembers when each shell
that sent a prompt had started, in the kernel's own count, which no change of the clock moves. After
a restart the log tells when the shell was last there: what started later is another program.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from efr.wire import types as t

C = TypeVar("C", t.ShellContext, t.ShellContext | None)

_KEPT: Final = 1024  # shells remembered; one that is forgotten is known by the log


class ShellStart(Struct, frozen=True):
    """When a process started: `ticks` since the machine's start, and as UTC microseconds."""

    ticks: int
    at_us: int


def of_first_shell(context: C, first_shell: Callable[[int, str], int]) -> C:
    """The context with the shell that its terminal was opened with: a shell inside another one
    shares the terminal, and the terminal is open when the inner shell has ended."""
    if context is None or context.tty is None or context.shell_pid is None:
        return context
    return replace(context, shell_pid=first_shell(context.shell_pid, context.tty))


class ShellLives:
    """Remembers shells. Any thread; each question costs a short read of /proc."""

    def __init__(self, look: Callable[[int], ShellStart | None]) -> None:
        self._look = look  # None: it is gone
        self._lock = threading.Lock()  # "shells"
        self._started: OrderedDict[int, int] = OrderedDict()  # pid -> ticks

    def seen(self, pid: int | None) -> None:
        """The shell is there now: it sends a prompt."""
        start = self._look(pid) if pid is not None else None
        if pid is None or start is None:
            return
        with self._lock:
            self._started[pid] = start.ticks
            self._started.move_to_end(pid)
            while len(self._started) > _KEPT:
                self._started.popitem(last=False)

    def runs(self, pid: int | None, used_us: int | None) -> bool:
        """Whether the shell with this number, which was there at `used_us`, still runs."""
        start = self._look(pid) if pid is not None else None
        if pid is None or start is None:
            return False
        with self._lock:
            ticks = self._started.get(pid)
        if ticks is not None:
            return start.ticks == ticks
        return used_us is not None and start.at_us <= used_us
