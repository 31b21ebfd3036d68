"""A clock that stands still until a test moves it, and ids that count."""

from __future__ import annotations

import threading


class FakeClock:
    """Wall and monotonic time under the test's hand. Starts at 2026-10-03T12:00:00Z."""

    def __init__(self, now_us: int = 1_791_028_800_000_000, monotonic: float = 1000.0) -> None:
        self._lock = threading.Lock()
        self._now_us = now_us
        self._monotonic = monotonic

    def now_us(self) -> int:
        with self._lock:
            return self._now_us

    def monotonic(self) -> float:
        with self._lock:
            return self._monotonic

    def advance(self, seconds: float) -> None:
        """Moves both clocks forward."""
        with self._lock:
            self._now_us += round(seconds * 1_000_000)
            self._monotonic += seconds

    def set_wall(self, now_us: int) -> None:
        """Sets wall time alone, as when somebody sets the machine's clock."""
        with self._lock:
            self._now_us = now_us


class CountingIds:
    """Ids 00000000-0000-7000-8000-000000000001 and on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def new(self) -> str:
        with self._lock:
            self._count += 1
            return f"00000000-0000-7000-8000-{self._count:012x}"
