"""One at a time, in the order they came: the inbox of a conversation's owner.

A request on a conversation decides, commits and applies its change while it is inside. The turn
goes through the same gate to start, to take steers and to end, so a steer is read or late and a
prompt starts or is withdrawn, never both. Being inside is a place in a queue and not a held lock:
nobody blocks on `Gate` itself longer than a few lines.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

INBOX = 64  # requests that may wait for one conversation; a client that sends more hears "busy"


class GateFull(Exception):
    """As many as may wait already wait."""


class GateShut(Exception):
    """Nobody gets in any more."""


class Gate:
    """First come, first in. Not reentrant. Any thread may enter."""

    def __init__(self, limit: int = INBOX) -> None:
        self._limit = limit
        self._moved = threading.Condition()
        self._inside: object | None = None
        self._waiting: deque[object] = deque()
        self._shut = False

    @property
    def is_shut(self) -> bool:
        with self._moved:
            return self._shut

    @contextmanager
    def enter(self, *, always: bool = False) -> Iterator[None]:
        """Blocks until it is this caller's turn. Raises GateFull unless `always` (the turn), and
        GateShut."""
        ticket = object()
        with self._moved:
            if self._shut:
                raise GateShut
            if self._inside is None and not self._waiting:
                self._inside = ticket
            else:
                if not always and len(self._waiting) >= self._limit:
                    raise GateFull
                self._waiting.append(ticket)
                self._moved.wait_for(lambda: self._inside is ticket)
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._moved:
            self._inside = self._waiting.popleft() if self._waiting else None
            self._moved.notify_all()

    @contextmanager
    def try_enter(self) -> Iterator[bool]:
        """Goes in only when nobody is inside or waits; yields whether it is. Never blocks."""
        ticket = object()
        with self._moved:
            entered = self._inside is None and not self._waiting and not self._shut
            if entered:
                self._inside = ticket
        try:
            yield entered
        finally:
            if entered:
                self._leave()

    def shut(self) -> bool:
        """The caller, who is inside, was the last one. False: others wait already."""
        with self._moved:
            self._shut = not self._waiting
            return self._shut
