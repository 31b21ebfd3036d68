"""What was started, in order, and how it is stopped again: the last one first, under one deadline.

Runs on `main`. A stop that raises is logged and the next one follows; threads that miss the
deadline are named in the log. Two things cut a stop short: the deadline itself and a second
signal; both end in `cut_short`, which raises inside whatever join `main` is blocked in.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("efr.daemon")

Stop = Callable[[float], object]  # takes the monotonic deadline; may return names that missed it


class CutShort(BaseException):
    """The stop must end now. Not an Exception: no handler of a room may swallow it."""


class Started:
    """A stack of stops."""

    def __init__(self) -> None:
        self._stops: list[tuple[str, Stop]] = []

    def add(self, name: str, stop: Stop) -> None:
        """`stop` ends what was just started. Must bear a second call."""
        self._stops.append((name, stop))

    def stop(self, deadline: float) -> bool:
        """Stops everything, newest first; True when all of it ended well and in time."""
        clean = True
        while self._stops:
            name, stop = self._stops.pop()
            try:
                late = stop(deadline)
            except CutShort:
                self._stops.append((name, stop))
                raise
            except Exception:  # noqa: BLE001 - the next one has to be stopped all the same
                _log.exception("stopping %s failed", name)
                clean = False
                continue
            if isinstance(late, list) and late:
                _log.error("stopping %s: %s did not end in time", name, ", ".join(late))
                clean = False
        return clean


def others_alive() -> list[str]:
    """Names of the threads beside the calling one that still run."""
    here = threading.current_thread()
    return sorted(thread.name for thread in threading.enumerate() if thread is not here)
