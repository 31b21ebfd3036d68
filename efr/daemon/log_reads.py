"""Reads of the log for clients: the start of a subscription, a page of history, a page of the list.

Each is a function for one reader thread and one read transaction, so all it says is of one
moment. A record that cannot be read any more (a fault of the disk) is left out with a warning; it
hides nothing else.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from msgspec.structs import replace

from efr.daemon.subscriptions import EventItem, Start
from efr.store import queries
from efr.text.redact import redact_title
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import BadValue, Refusal, refuse

_log = logging.getLogger("efr.daemon")

# Bounds of a replay and of a snapshot (docs/protocol.md, "Size limits").
START_EVENTS = 128
START_BYTES = 1024 * 1024
HISTORY_PAGE, HISTORY_MOST = 100, 500
HISTORY_BYTES = 8 * 1024 * 1024  # half a frame: a page of large events is shorter
LIST_PAGE, LIST_MOST = 50, 200

_LAST_SEQ = 2**63 - 1  # the largest that the log can give; SQLite takes no larger integer

_CURSOR = re.compile(r"s:([1-9][0-9]{0,18})")


def read_start(params: m.ConversationSubscribeParams, conn: Any) -> Start:
    """What a subscription begins with. Raises Refusal for an unknown conversation."""
    conversation_id, after = params.conversation_id, params.after_seq
    row = queries.conversation(conn, conversation_id)
    if row is None:
        raise no_conversation(conversation_id)
    hwm = queries.high_water(conn)
    if after is not None:
        after = min(after, _LAST_SEQ)
        gap = queries.events_after(conn, conversation_id, after, START_EVENTS, START_BYTES)
        if gap is not None:
            return Start(hwm, tuple(_items(gap)), None)
    newest, older = queries.newest_events(conn, conversation_id, None, START_EVENTS, START_BYTES)
    snapshot = m.SubscribeSnapshot(
        conversation=queries.summary(row),
        events=tuple(_envelopes(newest)),
        history_cursor=_cursor(newest[0].seq) if older else None,
        hwm=hwm,
    )
    ends = tuple(EventItem(event.seq, event.kind, b"") for event in newest)
    return Start(hwm, ends, partial(_snapshot_item, snapshot))


def history(params: m.ConversationHistoryParams, conn: Any) -> m.ConversationHistoryResult:
    """One page, oldest first. Raises Refusal."""
    before = _position(params.cursor)
    limit = _limit(params.limit, HISTORY_PAGE, HISTORY_MOST)
    if queries.conversation(conn, params.conversation_id) is None:
        raise no_conversation(params.conversation_id)
    page, older = queries.newest_events(conn, params.conversation_id, before, limit, HISTORY_BYTES)
    return m.ConversationHistoryResult(
        events=tuple(_envelopes(page)), next_cursor=_cursor(page[0].seq) if older else None
    )


def conversations(params: m.ConversationsListParams, conn: Any) -> m.ConversationsListResult:
    """One page, newest first; all of one terminal's with `tty`. Raises Refusal."""
    before = _position(params.cursor)
    limit = _limit(params.limit, LIST_PAGE, LIST_MOST)
    if params.tty is not None:
        rows = queries.conversations_of_tty(conn, params.tty)
        return m.ConversationsListResult(tuple(map(_listed, rows)))
    rows = queries.conversations_page(conn, before, limit + 1)
    return m.ConversationsListResult(
        tuple(map(_listed, rows[:limit])),
        next_cursor=_cursor(rows[limit - 1].last_seq) if len(rows) > limit else None,
    )


def _listed(row: queries.ConversationRow) -> t.ConversationSummary:
    """A row of the list; its title shows no secret."""
    summary = queries.summary(row)
    return summary if row.title is None else replace(summary, title=redact_title(row.title))


def no_conversation(conversation_id: str) -> Refusal:
    """The refusal for an id that names no conversation (any more)."""
    return refuse(t.ErrorCode.NOT_FOUND, f"there is no conversation {conversation_id}")


def _snapshot_item(snapshot: m.SubscribeSnapshot, live: t.Live | None) -> bytes:
    item = m.SubscribeSnapshot(
        conversation=snapshot.conversation,
        events=snapshot.events,
        history_cursor=snapshot.history_cursor,
        hwm=snapshot.hwm,
        live=live,
    )
    return codec.encode(item)


def _items(stored: Iterable[queries.StoredEvent]) -> Iterator[EventItem]:
    for event in stored:
        if _event(event) is not None:
            yield EventItem(event.seq, event.kind, ev.event_item_bytes(_envelope_bytes(event)))


def _envelopes(stored: Iterable[queries.StoredEvent]) -> Iterator[ev.EventEnvelope]:
    for event in stored:
        decoded = _event(event)
        if decoded is not None:
            yield ev.EventEnvelope(
                seq=event.seq,
                conversation_id=event.conversation_id,
                at=t.time_from_us(event.at_us),
                event=decoded,
            )


def _envelope_bytes(event: queries.StoredEvent) -> bytes:
    at = t.time_from_us(event.at_us)
    return ev.envelope_bytes(event.seq, event.conversation_id, at, event.payload)


def _event(stored: queries.StoredEvent) -> ev.Event | None:
    try:
        return ev.decode_event(stored.kind, stored.payload)
    except BadValue as exc:
        _log.warning("event %d (%s) cannot be read: %s", stored.seq, stored.kind, exc)
        return None


def _cursor(seq: int) -> str:
    """Below this number the next page begins. Clients never look inside."""
    return f"s:{seq}"


def _position(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise refuse(t.ErrorCode.INVALID, "this cursor is not one of efrd's")
    return int(found[1])


def _limit(asked: int | None, usual: int, most: int) -> int:
    if asked is None:
        return usual
    if asked < 1:
        raise refuse(t.ErrorCode.INVALID, "a page has at least 1 row")
    return min(asked, most)
