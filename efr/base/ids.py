"""Fresh ids: UUID version 7 (RFC 9562, section 5.7), so that ids sort by the time they were made.

Within one process the ids only grow, also when the wall clock goes backward: the 12 bits behind
the milliseconds count up, and a clock that went back is ignored until it caught up.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

from efr.base.clock import Clock

_COUNTER_BITS = 12


class Ids(Protocol):
    """Where rooms get a fresh id."""

    def new(self) -> str:
        """A fresh UUID, 36 characters, lowercase, hyphenated."""


class SystemIds:
    """UUIDv7 from a clock and the kernel's random source. Any thread may call."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last = 0  # milliseconds and counter of the newest id, as one number

    def new(self) -> str:
        """A fresh id, larger than every id this object made before."""
        random_bits = int.from_bytes(os.urandom(8), "big")
        with self._lock:
            stamp = (self._clock.now_us() // 1000) << _COUNTER_BITS
            self._last = max(stamp, self._last + 1)
            last = self._last
        milliseconds, counter = last >> _COUNTER_BITS, last & ((1 << _COUNTER_BITS) - 1)
        value = (milliseconds & (1 << 48) - 1) << 80
        value |= 7 << 76 | counter << 64
        value |= 0b10 << 62 | random_bits & ((1 << 62) - 1)
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
