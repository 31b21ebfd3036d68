"""The thread `list-watch`: reads what commits changed in the list of conversations.

Its inbox is the set of conversations to read again, each with the number of its newest event, so
it holds at most one entry per conversation and is never full. The thread waits while it is empty.
What is read, and who is told, is the daemon's business; `look` runs here and may block.

Stops with `stop()`; what is not read by then is not told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Condition, Thread


class ListWatch(Thread):
    """Calls `look` with what was touched since the last call."""

    def __init__(self, look: Callable[[Mapping[str, int]], None]) -> None:
        super().__init__(name="list-watch")
        self._look = look
        self._changed = Condition()
        self._touched: dict[str, int] = {}
        self._stopping = False

    def touch(self, touched: Mapping[str, int]) -> None:
        """These conversations changed. Any thread; never waits."""
        with self._changed:
            self._touched |= touched
            self._changed.notify()

    def run(self) -> None:
        while touched := self._take():
            self._look(touched)

    def stop(self, deadline: float) -> None:
        """Ends the thread and joins it. May be called twice."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self.is_alive():
            self.join()

    def _take(self) -> dict[str, int]:
        """Waits for something; empty: the thread stops."""
        with self._changed:
            self._changed.wait_for(lambda: self._touched or self._stopping)
            if self._stopping:
                return {}
            touched, self._touched = self._touched, {}
            return touched
