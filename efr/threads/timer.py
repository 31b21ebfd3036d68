"""The thread `timer`: a heap of due times and what to do when they come.

Question deadlines, presence, draft intervals, idle closes and retries are entries here, so no
other thread wakes up by itself to look at the time. Due times are monotonic. A callback runs on
this thread, one after another, and must be short: it sets a flag, notifies a condition or hands
work to somebody else. A callback that raises is logged; it never ends the thread.

Stops with `stop()`: what is not due by then never runs.
"""

from __future__ import annotations

import heapq
import logging
import threading
from collections.abc import Callable

from efr.base.clock import Clock

log = logging.getLogger("efr.threads")

# A turn makes and cancels entries all the time (drafts, questions). The heap is built anew when
# most of it is cancelled, so it stays as small as what still waits.
_SWEEP_FROM = 256


class Entry:
    """One due time. `cancel` takes it back; a callback that already runs is not stopped."""

    __slots__ = ("_timer", "cancelled", "due", "run")

    def __init__(self, timer: Timer, due: float, run: Callable[[], None]) -> None:
        self._timer = timer
        self.due = due
        self.run = run
        self.cancelled = False

    def cancel(self) -> None:
        """Any thread, any number of times."""
        self._timer.forget(self)


class Timer(threading.Thread):
    """Runs callbacks when their time has come. Any thread may add and cancel."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(name="timer")
        self._clock = clock
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, Entry]] = []
        self._count = 0
        self._cancelled = 0
        self._stopping = False

    def at(self, due_monotonic: float, run: Callable[[], None]) -> Entry:
        """Runs `run` on the timer's thread once that monotonic time is reached."""
        entry = Entry(self, due_monotonic, run)
        with self._changed:
            self._count += 1
            heapq.heappush(self._heap, (due_monotonic, self._count, entry))
            if self._heap[0][2] is entry:
                self._changed.notify()
        return entry

    def forget(self, entry: Entry) -> None:
        """Cancels an entry (`Entry.cancel` is the way in)."""
        with self._changed:
            if entry.cancelled:
                return
            entry.cancelled = True
            self._cancelled += 1
            if self._cancelled >= _SWEEP_FROM and self._cancelled * 2 > len(self._heap):
                self._heap = [item for item in self._heap if not item[2].cancelled]
                heapq.heapify(self._heap)
                self._cancelled = 0

    @property
    def waiting(self) -> int:
        """How many entries the heap holds, cancelled ones that are not swept yet included."""
        with self._changed:
            return len(self._heap)

    def stop(self) -> None:
        """Ends the thread and joins it; may be called twice."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Waits for the next due time, runs what is due, again and again."""
        while (due := self._wait()) is not None:
            for entry in due:
                self._fire(entry)
            due.clear()  # the wait for the next may be long, and they hold what they belong to

    def _wait(self) -> list[Entry] | None:
        """Blocks until something is due. None: the timer stops."""
        with self._changed:
            while not self._stopping:
                now = self._clock.monotonic()
                if due := self._take_due(now):
                    return due
                self._changed.wait(self._heap[0][0] - now if self._heap else None)
            return None

    def _take_due(self, now: float) -> list[Entry]:
        """Takes what is due out of the heap, earliest first. Called with the lock."""
        due: list[Entry] = []
        while self._heap and (self._heap[0][2].cancelled or self._heap[0][0] <= now):
            entry = heapq.heappop(self._heap)[2]
            if entry.cancelled:
                self._cancelled -= 1
            else:
                due.append(entry)
        return due

    def _fire(self, entry: Entry) -> None:
        with self._changed:
            if entry.cancelled or self._stopping:
                return
            entry.cancelled = True  # it is out of the heap: a late cancel has nothing to count
        try:
            entry.run()
        except Exception:
            log.exception("a timer callback failed")
