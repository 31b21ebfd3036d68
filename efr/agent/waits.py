"""A wait for time that a stop can end. The timer's thread tells when the time has come."""

from __future__ import annotations

import threading

from efr.agent.ports import Timers
from efr.base.clock import Clock


class Pause:
    """Waits of one worker; `end` (from any thread) ends the running one and all later ones."""

    def __init__(self, clock: Clock, timer: Timers) -> None:
        self._clock = clock
        self._timer = timer
        self._changed = threading.Condition()
        self._ended = False

    def wait(self, seconds: float) -> bool:
        """Blocks for that long. False: it was ended."""
        due = False

        def fire() -> None:
            nonlocal due
            with self._changed:
                due = True
                self._changed.notify_all()

        entry = self._timer.at(self._clock.monotonic() + seconds, fire)
        with self._changed:
            self._changed.wait_for(lambda: due or self._ended)
            ended = self._ended
        entry.cancel()
        return not ended

    def end(self) -> None:
        """Any number of times."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
