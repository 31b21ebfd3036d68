"""A bounded inbox of one thread, or of a few that share the work.

Full: `put` waits, `post` does not, `offer` says no. After `close` nothing gets in; what is in is
still taken.
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
        self._wanted = 1  # takers are woken when so many wait
        self._closed = False

    @property
    def empty(self) -> bool:
        """Whether nothing waits, right now."""
        return not self._waiting

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

    def offer(self, item: T) -> bool:
        """Adds an item if there is room and it is not closed; says whether. Never waits."""
        with self._lock:
            if self._closed or len(self._waiting) >= self._limit:
                return False
            self._add(item)
            return True

    def _add(self, item: T) -> None:
        if self._closed:
            raise Closed
        self._waiting.append(item)
        if len(self._waiting) >= self._wanted:
            self._filled.notify()

    def take(self) -> T | None:
        """The oldest item; blocks until there is one. None: closed, and nothing is left."""
        with self._lock:
            while not self._waiting and not self._closed:
                self._filled.wait()
            if not self._waiting:
                return None
            self._emptied.notify()
            return self._waiting.popleft()

    def take_all(self, hoped: int = 1, patience_s: float = 0.0) -> list[T]:
        """Everything that waits, oldest first; blocks until there is something.

        Waits up to `patience_s` longer for `hoped` items to be there. Only for an inbox with one
        taker. Empty: closed, and nothing is left.
        """
        with self._lock:
            if len(self._waiting) < hoped and not self._closed:
                self._wanted = min(hoped, self._limit)
                self._filled.wait(patience_s)
                self._wanted = 1
            while not self._waiting and not self._closed:
                self._filled.wait()
            taken = list(self._waiting)
            self._waiting.clear()
            self._emptied.notify_all()
        return taken

    def close(self) -> None:
        """Lets nothing more in and wakes everybody."""
        with self._lock:
            self._closed = True
            self._filled.notify_all()
            self._emptied.notify_all()
