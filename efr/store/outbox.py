"""Durable side effects: decided in a batch, claimed in order by one worker, marked done.

Each function takes the writer's connection, inside a transaction of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from efr.store.batch import NewOutbox
from efr.store.db import Connection
from efr.store.errors import NotClaimed


class OutboxRow(Struct, frozen=True, gc=False):
    """A claimed side effect."""

    id: int
    kind: str
    payload: bytes
    replay_safe: bool


def enqueue(conn: Connection, rows: Sequence[NewOutbox], at_us: int) -> None:
    """Adds side effects, to be done in this order."""
    conn.executemany(
        "INSERT INTO outbox (kind, payload, replay_safe, created_at) VALUES (?, ?, ?, ?)",
        [(row.kind, row.payload.decode(), int(row.replay_safe), at_us) for row in rows],
    )


def claim_next(conn: Connection, at_us: int) -> OutboxRow | None:
    """Claims the oldest side effect that nobody claimed, or says that there is none."""
    row = conn.execute(
        "UPDATE outbox SET claimed_at = ? WHERE id = (SELECT id FROM outbox"
        " WHERE done_at IS NULL AND cancelled_at IS NULL AND claimed_at IS NULL"
        " ORDER BY id LIMIT 1) RETURNING id, kind, payload, replay_safe",
        (at_us,),
    ).fetchone()
    if row is None:
        return None
    return OutboxRow(row[0], row[1], row[2].encode(), bool(row[3]))


def mark_done(conn: Connection, outbox_id: int, at_us: int) -> None:
    """The side effect happened. Raises NotClaimed for a row that is not claimed (any more)."""
    conn.execute(
        "UPDATE outbox SET done_at = ? WHERE id = ? AND claimed_at IS NOT NULL"
        " AND done_at IS NULL AND cancelled_at IS NULL",
        (at_us, outbox_id),
    )
    if not conn.changes():
        raise NotClaimed(outbox_id)


def settle_after_stop(conn: Connection, at_us: int) -> None:
    """At a start: rows bound to the process that is gone are cancelled, claimed rows that may be
    done again go back to the queue."""
    conn.execute(
        "UPDATE outbox SET cancelled_at = ? WHERE replay_safe = 0"
        " AND done_at IS NULL AND cancelled_at IS NULL",
        (at_us,),
    )
    conn.execute(
        "UPDATE outbox SET claimed_at = NULL WHERE claimed_at IS NOT NULL"
        " AND done_at IS NULL AND cancelled_at IS NULL"
    )
