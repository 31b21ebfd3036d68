"""efrd as the parent of what its shells leave behind (prctl(2), PR_SET_CHILD_SUBREAPER).

A process whose parents are gone gets efrd as its parent instead of the system's first process. So
a command of the model that detaches itself still descends from efrd, and `peers.py` can tell it
from the user's own. The price: efrd has to take the exit of such orphans.
"""

from __future__ import annotations

import ctypes
import os

from efr.daemon.processes import dead_children

_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def become_subreaper() -> None:
    """Makes this process the parent of its orphaned descendants. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


class OrphanReaper:
    """Takes the exits of orphans. A room waits for its own children at once, so a child that is
    dead in two looks in a row is nobody's."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def sweep(self) -> int:
        """One look; returns how many exits it took. Never blocks for long."""
        dead = dead_children(os.getpid())
        taken = 0
        for pid in dead & self._seen:
            try:
                os.waitpid(pid, os.WNOHANG)
                taken += 1
            except ChildProcessError:
                continue  # its owner came after all
        self._seen = dead - self._seen
        return taken
