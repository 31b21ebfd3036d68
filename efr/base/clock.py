"""The clock: the one door to wall time and monotonic time.

Wall time is what events and files carry; it may jump. Deadlines use monotonic time, which never
goes back. Both come in through constructors, so a test moves time by hand.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where rooms read the time."""

    def now_us(self) -> int:
        """UTC now, in microseconds since 1970. May go backward when the machine's clock is set."""

    def monotonic(self) -> float:
        """Seconds since some fixed point; only grows. Deadlines are compared with it."""


class SystemClock:
    """The machine's own clock."""

    def now_us(self) -> int:
        """UTC now, in microseconds since 1970."""
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        """Monotonic seconds (CLOCK_MONOTONIC)."""
        return time.monotonic()
