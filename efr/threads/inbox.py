"""A bounded inbox of one thread, or of a few that share the work.

Full: `put` waits, `post` does not. After `close` nothing gets in; what is in is still taken.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Closed(Exception):
    """Nobody takes from this inbox any more."""


class Inbox(Generic[T]):
    """Many threads put. An empty answer of `take` means: closed, and nothing is left."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._filled = threading.Condition(self._lock)
        self._emptied = threading.Condition(self._lock)
        self._waiting: deque[T] = deque()
        self._closed = False

    def put(self, item: T) -> None:
        """Adds an item; blocks while the inbox is full. Raises Closed."""
        with self._lock:
            while len(self._waiting) >= self._limit and not self._closed:
                self._emptied.wait()
            self._add(item)

    def post(self, item: T) -> None:
        """Adds an item also to a full inbox; never waits. Raises Closed."""
        with self._lock:
            self._add(item)

    def _add(self, item: T) -> None:
        if self._closed:
            raise Closed
        self._waiting.append(item)
        self._filled.notify()

    def take(self, most: int | None = None) -> list[T]:
        """What waits, oldest first, at most `most` items; blocks until there is something."""
        with self._lock:
            while not self._waiting and not self._closed:
                self._filled.wait()
            if most is None or most >= len(self._waiting):
                taken = list(self._waiting)
                self._waiting.clear()
            else:
                taken = [self._waiting.popleft() for _ in range(most)]
            self._emptied.notify(len(taken))
        return taken

    def close(self) -> None:
        """Lets nothing more in and wakes everybody."""
        with self._lock:
            self._closed = True
            self._filled.notify_all()
            self._emptied.notify_all()
