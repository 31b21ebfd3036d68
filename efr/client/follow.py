"""A conversation's items in order, over as many connections as it takes.

Resumes behind the last event it gave out, fills the gap that a snapshot leaves from the history,
and gives up after a bounded number of tries. Blocks on the caller's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

from efr.client.connection import Connection, Stream
from efr.client.errors import ConnectionLost, NoDaemon, Refused
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

Item: TypeAlias = m.SubscribeEvent | ev.EventEnvelope | m.SubscribeDraft | t.Live

TRIES = 60  # with PAUSE_S: a restart of the daemon takes some seconds
PAUSE_S = 0.25
ENDS = 3  # streams that end without one event between them: something is wrong


class Follower:
    """Where a reader of a conversation is, and how it goes on."""

    def __init__(
        self,
        dial: Callable[[], Connection],
        conversation_id: str,
        *,
        after_seq: int | None = None,
        drafts: bool = False,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._dial = dial
        self._conversation_id = conversation_id
        self.after_seq = after_seq
        self._drafts = drafts
        self._pause = pause or threading.Event().wait  # nobody sets it: a wait with a limit

    def items(self, connection: Connection) -> Iterator[Item]:
        """Items for as long as the conversation lives. Raises NoDaemon, Refused when it gives up.

        Uses `connection` until it breaks, then connections of its own; it closes both kinds.
        """
        current = connection
        ends = 0
        try:
            while True:
                before = self.after_seq
                try:
                    with self._subscribe(current) as stream:
                        yield from self._read(current, stream)
                    return  # the stream's own end: the conversation was deleted
                except (ConnectionLost, Refused) as exc:
                    ends = ends + 1 if self.after_seq == before else 1
                    if ends > ENDS or not _may_go_on(exc):
                        raise
                    if not _is_overflow(exc):
                        current.close()
                        current = self._reconnect()
        finally:
            if current is not connection:
                current.close()

    def _subscribe(self, connection: Connection) -> Stream:
        return connection.stream(
            "conversation.subscribe",
            conversation_id=self._conversation_id,
            after_seq=self.after_seq,
            drafts=self._drafts,
        )

    def _read(self, connection: Connection, stream: Stream) -> Iterator[Item]:
        for item in stream:
            if isinstance(item, m.SubscribeSnapshot):
                yield from self._from_snapshot(connection, item)
            elif isinstance(item, m.SubscribeEvent):
                yield from self._fresh(item)
            else:
                yield item

    def _from_snapshot(
        self, connection: Connection, snapshot: m.SubscribeSnapshot
    ) -> Iterator[Item]:
        older = self.older(connection, snapshot) if self.after_seq is not None else []
        for envelope in (*older, *snapshot.events):
            yield from self._fresh(envelope)
        if snapshot.live is not None:
            yield snapshot.live

    def older(
        self, connection: Connection, snapshot: m.SubscribeSnapshot
    ) -> list[ev.EventEnvelope]:
        """The events between the last one given out and the first one of a snapshot."""
        return missing_events(connection, self._conversation_id, self.after_seq or 0, snapshot)

    def _fresh(self, envelope: m.SubscribeEvent | ev.EventEnvelope) -> Iterator[Item]:
        """The event, unless it was given out before."""
        if self.after_seq is None or envelope.seq > self.after_seq:
            self.after_seq = envelope.seq
            yield envelope

    def _reconnect(self) -> Connection:
        for left in range(TRIES, 0, -1):
            try:
                return self._dial()
            except (NoDaemon, ConnectionLost):
                if left == 1:
                    raise
                self._pause(PAUSE_S)
        raise AssertionError("unreachable: the last try returns or raises")


def _is_overflow(exc: Exception) -> bool:
    """The daemon closed a stream that was read too slowly; the connection is good."""
    return isinstance(exc, Refused) and exc.code == "overflow"


def _may_go_on(exc: Exception) -> bool:
    """A lost connection, a slow stream, or a daemon that stops: worth another try."""
    return not isinstance(exc, Refused) or exc.code in {"overflow", "cancelled"}


def missing_events(
    connection: Connection, conversation_id: str, after_seq: int, snapshot: m.SubscribeSnapshot
) -> list[ev.EventEnvelope]:
    """The events above `after_seq` that came before the first one of `snapshot`. Blocks."""
    found: list[ev.EventEnvelope] = []
    first = snapshot.events[0].seq if snapshot.events else 0
    cursor = snapshot.history_cursor if first > after_seq + 1 else None
    while cursor is not None:
        page: m.ConversationHistoryResult = connection.call(
            "conversation.history", conversation_id=conversation_id, cursor=cursor
        )
        fresh = [one for one in page.events if after_seq < one.seq < first]
        found = fresh + found
        cursor = page.next_cursor if len(fresh) == len(page.events) else None
    return found
