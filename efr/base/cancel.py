"""One `Cancel` says "stop" to whatever a piece of blocking work is doing right now.

A turn hands the same object to the model stream, the question and the shell call. Each registers
what wakes it (shut a socket down, notify a condition, signal a process); `cancel()` runs those
wakers once, from the thread that cancels. A waker must not block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancelled(Exception):
    """The work was cancelled before it was done."""


class Cancel:
    """A flag that can be set once, and the wakers that run when it is. Any thread may call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._event = threading.Event()
        self._wakers: dict[int, Callable[[], None]] = {}
        self._next = 0

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Sets the flag and runs every registered waker once. Later calls do nothing."""
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            wakers = list(self._wakers.values())
            self._wakers.clear()
        for wake in wakers:
            wake()

    def on_cancel(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Runs `wake` when cancelled (at once when it already is). Returns what takes it back."""
        with self._lock:
            if not self._event.is_set():
                key = self._next
                self._next += 1
                self._wakers[key] = wake
                return lambda: self._forget(key)
        wake()
        return lambda: None

    def _forget(self, key: int) -> None:
        with self._lock:
            self._wakers.pop(key, None)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Blocks until cancelled or the time is over; says whether it is cancelled."""
        return self._event.wait(timeout_s)

    def raise_if_cancelled(self) -> None:
        """Raises Cancelled when cancelled."""
        if self._event.is_set():
            raise Cancelled
