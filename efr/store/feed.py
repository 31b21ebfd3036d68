"""Committed events, handed to whoever listens, in the order of the commits.

Listeners are called on `store-writer`, after the commit and before the caller of the append gets
its answer: who got that answer knows that every listener has the events. A listener must not
block and must not raise; one that raises is logged and keeps its place.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from efr.store.batch import Entry
from efr.wire import events as ev
from efr.wire import types as t

log = logging.getLogger("efr.store")

BACKLOG: Final = 1024  # commits that a listener may be behind before it is told that it lagged


class Published(Struct, frozen=True):
    """A committed event. `payload` is the event's JSON, `envelope` the whole item's."""

    seq: int
    conversation_id: str | None
    kind: str
    turn_id: str | None
    at_us: int
    payload: bytes
    envelope: bytes
    event: ev.Event


Listener: TypeAlias = Callable[[Sequence[Published]], None]


class Feed:
    """The list of listeners. Any thread may listen; the writer alone publishes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()

    def listen(self, fn: Listener) -> Callable[[], None]:
        """Calls `fn` with the events of each commit from now on. Returns what ends it; a call
        that has begun by then still comes."""
        with self._lock:
            self._listeners = (*self._listeners, fn)
        return lambda: self._forget(fn)

    def _forget(self, fn: Listener) -> None:
        with self._lock:
            self._listeners = tuple(one for one in self._listeners if one is not fn)

    def publish(self, entries: Sequence[Entry]) -> None:
        """Hands out what one commit wrote; each event is encoded once for all listeners."""
        listeners = self._listeners
        if not listeners or not entries:
            return
        published = list(_published(entries))
        for fn in listeners:
            try:
                fn(published)
            except Exception:
                log.exception("a listener of the feed failed")


def _published(entries: Sequence[Entry]) -> Iterator[Published]:
    at_us, at = -1, ""
    for entry in entries:
        if entry.at_us != at_us:  # most often the whole commit has one time
            at_us, at = entry.at_us, t.time_from_us(entry.at_us)
        assert entry.event is not None  # what was just appended is never opaque
        yield Published(
            entry.seq,
            entry.conversation_id,
            entry.kind,
            entry.turn_id,
            entry.at_us,
            entry.payload,
            ev.envelope_bytes(entry.seq, entry.conversation_id, at, entry.payload),
            entry.event,
        )


class Backlog:
    """A listener with room: keeps commits until somebody takes them.

    `Feed.listen(backlog.offer)`. When more than `limit` commits wait, all of them are dropped and
    `take` says so once: the taker starts again from the log.
    """

    def __init__(self, wake: Callable[[], None], limit: int = BACKLOG) -> None:
        self._wake = wake
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: deque[Sequence[Published]] = deque()
        self._lagged = False

    def offer(self, published: Sequence[Published]) -> None:
        """Called by the feed; never waits."""
        with self._lock:
            if len(self._waiting) >= self._limit:
                self._waiting.clear()
                self._lagged = True
            if not self._lagged:
                self._waiting.append(published)
        self._wake()

    def take(self) -> list[Sequence[Published]] | None:
        """The commits that wait, oldest first. None: it fell behind, and some are lost to it."""
        with self._lock:
            if self._lagged:
                self._lagged = False
                return None
            taken = list(self._waiting)
            self._waiting.clear()
        return taken
