"""Time, threads and listeners under a test's hand."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable

from tests.harness.clock import FakeClock

LIMIT_S = 20.0  # no wait of a test is longer; what has not happened by then never will


class ScriptedEntry:
    def __init__(self, due: float, run: Callable[[], None]) -> None:
        self.due = due
        self.run = run
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ScriptedTimer:
    """Runs what is due when the test moves the clock, on the test's thread."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, ScriptedEntry]] = []
        self._count = 0

    def at(self, due_monotonic: float, run: Callable[[], None]) -> ScriptedEntry:
        entry = ScriptedEntry(due_monotonic, run)
        with self._changed:
            self._count += 1
            heapq.heappush(self._heap, (due_monotonic, self._count, entry))
            self._changed.notify_all()
        return entry

    def advance(self, seconds: float) -> None:
        """Moves the clock step by step to each due time on the way, and runs what is due."""
        end = self._clock.monotonic() + seconds
        while (entry := self._take(end)) is not None:
            self._clock.advance(max(0.0, entry.due - self._clock.monotonic()))
            entry.run()
        self._clock.advance(max(0.0, end - self._clock.monotonic()))

    def wait_for(self, seconds: float) -> None:
        """Blocks until somebody waits for exactly that long from now."""
        due = self._clock.monotonic() + seconds
        with self._changed:
            assert self._changed.wait_for(
                lambda: any(
                    abs(one.due - due) < 1e-6 and not one.cancelled for _, _, one in self._heap
                ),
                LIMIT_S,
            ), f"nobody waits for {seconds} s"

    @property
    def live(self) -> int:
        """How many entries still wait."""
        with self._changed:
            return sum(not one.cancelled for _, _, one in self._heap)

    def _take(self, end: float) -> ScriptedEntry | None:
        with self._changed:
            while self._heap and self._heap[0][0] <= end:
                entry = heapq.heappop(self._heap)[2]
                if not entry.cancelled:
                    return entry
            return None
