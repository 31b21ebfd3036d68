"""The `errand-N` threads: one piece of work each that waits long for somebody else.

A method that must ask a provider, or wait for a conversation to stop, hands that to an errand and
gives its handler back. A thread is started for each errand and ends with it; at most 8 at once,
one more is refused. Each errand ends when its request is cancelled: that is its own business.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock, Thread

from efr.base.clock import Clock

ERRANDS = 8  # a person logs in once; more than a few at a time are a client gone wild

_log = logging.getLogger("efr.daemon")


class Errands:
    """The errands that run."""

    def __init__(self, clock: Clock, limit: int = ERRANDS) -> None:
        self._clock = clock
        self._limit = limit
        self._lock = Lock()  # "errands"
        self._running: dict[int, Thread] = {}  # at most `limit`; ended ones until the next run
        self._stopped = False

    def run(self, work: Callable[[], None]) -> bool:
        """Runs `work` on a thread of its own. False: as many as may run do, or it is stopped."""
        with self._lock:
            self._running = {n: one for n, one in self._running.items() if one.is_alive()}
            if self._stopped or len(self._running) >= self._limit:
                return False
            number = next(n for n in range(1, self._limit + 1) if n not in self._running)
            thread = Thread(target=_run, args=(work,), name=f"errand-{number}")
            thread.start()  # inside the lock, so that a stop finds only what it can join
            self._running[number] = thread
        return True

    def stop(self, deadline: float) -> list[str]:
        """Lets nothing more begin and joins; returns the names of those that miss `deadline`.

        Their requests have been cancelled by then. May be called twice.
        """
        with self._lock:
            self._stopped = True
            running = list(self._running.values())
        for thread in running:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        return [thread.name for thread in running if thread.is_alive()]


def _run(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception:  # noqa: BLE001 - it ends its own request alone
        _log.exception("an errand broke")
