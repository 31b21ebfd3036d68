"""The thread `snapshot-collector`: one pass over the snapshot stores at a time.

It waits until it is woken (at its start, and by the timer once an hour). Each pass catches its own
errors and waits for the next; a stop ends the git that runs. What goes is decided in
`efr.snapshots.collect`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread

from efr.base.cancel import Cancel, Cancelled
from efr.config import schema
from efr.snapshots.room import Snapshots

log = logging.getLogger("efr.threads")


class SnapshotCollector:
    """Collects old snapshots. `settings` are those of now."""

    def __init__(self, snapshots: Snapshots, settings: Callable[[], schema.Snapshot]) -> None:
        self._snapshots = snapshots
        self._settings = settings
        self._wanted = Event()
        self._cancel = Cancel()
        self._thread = Thread(target=self._live, name="snapshot-collector")

    def start(self) -> None:
        """Starts the thread with a pass: a stop may have left something."""
        self._wanted.set()
        self._thread.start()

    def wake(self) -> None:
        """Asks for a pass; one that runs is followed by another. Never blocks."""
        self._wanted.set()

    def stop(self) -> None:
        """Ends the pass and the thread, and joins. May be called twice."""
        self._cancel.cancel()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()

    def _live(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._cancel.cancelled:
                return
            try:
                settings = self._settings()
                self._snapshots.collect(settings.keep_turns, settings.max_age_days, self._cancel)
            except Cancelled:
                return
            except Exception:
                log.exception("a pass over the snapshots broke; it is tried again")
