"""Queries of the event log. Each takes any connection."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from efr.store.db import Connection
from efr.store.rows import StoredEvent

_EVENT: Final = "SELECT seq, conversation_id, turn_id, kind, payload, created_at FROM events"


def high_water(conn: Connection) -> int:
    """The newest number of the log; 0 when it is empty."""
    return int(conn.execute("SELECT coalesce(max(seq), 0) FROM events").get)


def event(conn: Connection, seq: int) -> StoredEvent | None:
    """One event by its number, or None."""
    row = conn.execute(f"{_EVENT} WHERE seq = ?", (seq,)).fetchone()
    return None if row is None else _event(row)


def events_after(
    conn: Connection, conversation_id: str, after_seq: int, max_events: int, max_bytes: int
) -> list[StoredEvent] | None:
    """Every event of a conversation above a number, oldest first.

    None when they are more than `max_events`, or their payloads more than `max_bytes` together.
    """
    rows = conn.execute(
        f"{_EVENT} WHERE conversation_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (conversation_id, after_seq, max_events + 1),
    )
    found: list[StoredEvent] = []
    size = 0
    for row in rows:
        stored = _event(row)
        size += len(stored.payload)
        if len(found) == max_events or size > max_bytes:
            return None
        found.append(stored)
    return found


def newest_events(
    conn: Connection,
    conversation_id: str,
    before_seq: int | None,
    max_events: int,
    max_bytes: int,
    without: Collection[str] = (),
) -> tuple[list[StoredEvent], bool]:
    """The newest events of a conversation below a number, oldest first, and whether older ones
    are left. `without` leaves kinds out.

    The bounds are as in `events_after`; an event that is larger than `max_bytes` alone still comes,
    by itself, so that paging gets past it.
    """
    marks = ", ".join("?" * len(without))
    rows = conn.execute(
        f"{_EVENT} WHERE conversation_id = ? AND seq < ? AND kind NOT IN ({marks})"
        " ORDER BY seq DESC LIMIT ?",
        (conversation_id, before_seq or _ABOVE_ALL, *without, max_events + 1),
    )
    found: list[StoredEvent] = []
    size = 0
    for row in rows:
        stored = _event(row)
        size += len(stored.payload)
        if len(found) == max_events or (found and size > max_bytes):
            return found[::-1], True
        found.append(stored)
    return found[::-1], False


_ABOVE_ALL: Final = (1 << 63) - 1  # the largest integer of SQLite


def turn_events(conn: Connection, conversation_id: str, turn_id: str) -> list[StoredEvent]:
    """Every event of a turn, oldest first."""
    bounds = conn.execute(
        "SELECT queued_seq, last_seq FROM turns WHERE id = ?", (turn_id,)
    ).fetchone()
    first, last = (0, _ABOVE_ALL) if bounds is None else bounds
    rows = conn.execute(
        f"{_EVENT} WHERE conversation_id = ? AND seq BETWEEN ? AND ? AND turn_id = ? ORDER BY seq",
        (conversation_id, first, last, turn_id),
    )
    return _events(rows)


def _events(rows: Iterable[Any]) -> list[StoredEvent]:
    return [_event(row) for row in rows]


def _event(row: Any) -> StoredEvent:
    seq, conversation_id, turn_id, kind, payload, at_us = row
    return StoredEvent(seq, conversation_id, turn_id, kind, payload.encode(), at_us)
