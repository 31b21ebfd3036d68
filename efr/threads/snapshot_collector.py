"""The thread `snapshot-collector`: one pass over the snapshot stores at a time.

It waits until it is woken (at its start, and by the timer once an hour). Each pass catches its own
errors and waits for the next; a stop ends the git that runs. What goes is decided in
`efr.snapshots.collect`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from efr.base.cancel import Cancel, Cancelled
from efr.config import schema
from efr.snapshots.room import Snapshots
from efr.threads.rounds import Rounds

log = logging.getLogger("efr.threads")


class SnapshotCollector(Rounds):
    """Collects old snapshots. `settings` are those of now."""

    def __init__(self, snapshots: Snapshots, settings: Callable[[], schema.Snapshot]) -> None:
        super().__init__("snapshot-collector", self._pass)
        self._snapshots = snapshots
        self._settings = settings
        self._cancel = Cancel()

    def stop(self) -> None:
        """Ends the pass and the thread, and joins. May be called twice."""
        self._cancel.cancel()
        super().stop()

    def _pass(self) -> None:
        """One pass; it logs what keeps it from its end."""
        try:
            settings = self._settings()
            self._snapshots.collect(settings.keep_turns, settings.max_age_days, self._cancel)
        except Cancelled:
            log.debug("a pass over the snapshots was ended")
        except Exception:
            log.exception("a pass over the snapshots broke; it is tried again")
