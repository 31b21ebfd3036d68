"""Background work that comes again and again, on the `timer` thread.

Each piece catches its own errors, logs one line and goes on; each is short, or hands its work to
the thread that owns it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from efr.base.clock import Clock
from efr.threads.timer import Entry, Timer

_log = logging.getLogger("efr.daemon")


class Every:
    """Runs `work` every `seconds`, the first time after them. `stop` ends it."""

    def __init__(
        self, name: str, seconds: float, work: Callable[[], object], timer: Timer, clock: Clock
    ) -> None:
        self._name = name
        self._seconds = seconds
        self._work = work
        self._timer = timer
        self._clock = clock
        self._stopped = False
        self._entry: Entry | None = None

    def start(self) -> None:
        """Sets the next time."""
        self._entry = self._timer.at(self._clock.monotonic() + self._seconds, self._run)

    def stop(self, deadline: float) -> None:
        """No more of it begins. May be called twice."""
        self._stopped = True
        if self._entry is not None:
            self._entry.cancel()

    def _run(self) -> None:
        try:
            self._work()
        except Exception:  # noqa: BLE001 - it is due again
            _log.exception("%s failed; it is tried again", self._name)
        if not self._stopped:
            self.start()
