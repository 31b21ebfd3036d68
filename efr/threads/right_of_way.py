"""Batches go first: a search pauses while the store-writer has something to do.

Threads of one process take turns at the interpreter's lock. A commit gives it back at each of its
statements and has to get it again, so three searches that never pause make it several times as
long. They pause at the start of a statement and every few milliseconds of a long one.
"""

from __future__ import annotations

import threading

from efr.base.clock import Clock


class RightOfWay:
    """Any thread may claim it for the writer; the writer releases it when its inbox is empty."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._released = threading.Condition()
        self._claimed = False

    def claim(self) -> None:
        """Something for the writer is about to be queued. Never blocks."""
        self._claimed = True

    def release(self) -> None:
        """The writer has nothing to do. Never blocks."""
        if self._claimed:
            self._claimed = False
            with self._released:
                self._released.notify_all()

    def give(self, most_s: float) -> float:
        """Blocks while the writer has something to do, and no longer than `most_s`; returns how
        many seconds it took."""
        if not self._claimed:
            return 0.0
        began = self._clock.monotonic()
        with self._released:
            self._released.wait_for(lambda: not self._claimed, most_s)
        return self._clock.monotonic() - began
