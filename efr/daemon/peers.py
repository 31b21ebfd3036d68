"""Which local peers the model's own commands started: they may read and nothing more.

A peer counts as model-side when its process descends from a hidden shell, shares a hidden shell's
session, or is gone. efrd is the subreaper of everything its shells start (prctl(2),
PR_SET_CHILD_SUBREAPER), so a process that forks twice and calls setsid(2) still has efrd above it:
descending from efrd itself is therefore what is looked for. efrd's own ancestors never count.
Asked at each request that needs more than `read`; facts come from /proc (proc(5)).
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from efr.daemon.processes import Process, read_process
from efr.threads.requests import Peer

_DEPTH = 1024  # parents followed; a chain that is longer is a loop of reused pids
_TRIES = 64  # looks at a chain whose parents end while it is followed; then it hides something


class ModelSide:
    """Tells model-side peers from the user's own."""

    def __init__(
        self,
        own_pid: int,
        sessions: Callable[[], Collection[int]],
        look: Callable[[int], Process | None] = read_process,
    ) -> None:
        self._own_pid = own_pid
        self._sessions = sessions  # session ids of the hidden shells that run
        self._look = look

    def started(self, pid: int) -> int | None:
        """When that process started, to know it again; None when it is gone. Raises OSError."""
        process = self._look(pid) if pid > 0 else None
        return process.start if process is not None else None

    def is_model_side(self, peer: Peer) -> bool:
        """Whether the peer may only read. Reads /proc; any thread.

        Raises OSError when /proc cannot be read: then nobody can say.
        """
        if peer.remote:
            return False
        for _ in range(_TRIES):
            process = self._look(peer.pid) if peer.pid > 0 else None
            if process is None or process.start != peer.pid_start:
                return True  # gone: nobody can say any more who it was
            if process.session in self._sessions():
                return True
            descends = self._descends_from_us(process)
            if descends is not None:
                return descends
        return True

    def _descends_from_us(self, process: Process) -> bool | None:
        """None: a parent ended meanwhile, so its child has another one by now."""
        for _ in range(_DEPTH):
            if process.parent == self._own_pid:
                return True
            if process.parent <= 1:
                return False
            above = self._look(process.parent)
            if above is None or above.start > process.start:
                return None
            process = above
        return True
