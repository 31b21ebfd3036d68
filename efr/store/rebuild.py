"""Builds the projections anew from the log, in one transaction, a page of events at a time.

Events of a deleted conversation are skipped, but for the slots it took from others. The log may
be odd (written by earlier daemons, or with a record that a fault of the disk damaged): an event
that cannot be read counts only as "something happened here", so one bad record hides no
conversation.
"""

from __future__ import annotations

import logging
from bisect import bisect
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from efr.store import db
from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections import KINDS, empty, project
from efr.store.projections.conversations import take_slot
from efr.store.projections.deletes import slots_taken
from efr.wire import events as ev
from efr.wire.errors import BadValue

log = logging.getLogger("efr.store")

PAGE: Final = 512  # events held in memory at a time

_PAGE_SQL: Final = """
SELECT seq, conversation_id, turn_id, kind, payload, created_at FROM events
WHERE seq > ? AND (conversation_id IS NULL
    OR conversation_id NOT IN (SELECT conversation_id FROM conversation_deletes))
ORDER BY seq LIMIT ?
"""


class _MakingUp:
    """The guard of a rebuild: nothing is refused any more, what is missing is filled in."""

    def missing(self, conn: Connection, entry: Entry) -> None:
        """A conversation whose first record cannot be read still gets its row."""
        conn.execute(
            "INSERT INTO conversations (id, origin, created_at, updated_at, last_seq)"
            " VALUES (?, 'unknown', ?, ?, ?)",
            (entry.conversation_id, entry.at_us, entry.at_us, entry.seq),
        )

    def check(self, conn: Connection, entry: Entry) -> None:
        """Everything in the log was allowed once."""


def rebuild(conn: Connection, reached: Callable[[str], None] = lambda step: None) -> int:
    """Empties the projections and replays the log; says how many events it read. Blocks.

    `reached` is told of each page; it is for tests that stop the process there.
    """
    path = db.path_of(conn)
    with db.translated(path, conn):
        count = db.transact(conn, lambda: _replay(conn, reached))
    reached("rebuilt")
    return count


def rebuild_if_stale(conn: Connection, reached: Callable[[str], None] = lambda step: None) -> None:
    """Rebuilds when a migration changed a projection and no rebuild came after it."""
    stale = "SELECT 1 FROM sqlite_schema WHERE name = 'projections_stale'"
    if conn.execute(stale).fetchone() is not None:
        rebuild(conn, reached)


def _replay(conn: Connection, reached: Callable[[str], None]) -> int:
    empty(conn)
    guard = _MakingUp()
    taken = deque(slots_taken(conn))
    count, after = 0, 0
    while page := [_entry(*row) for row in _rows(conn, after)]:
        count += len(page)
        after = page[-1].seq
        while taken and taken[0].seq < after:
            slot = taken.popleft()
            before = bisect(page, slot.seq, key=lambda entry: entry.seq)
            project(conn, page[:before], guard)
            take_slot(conn, None, slot.tty, slot.route)
            page = page[before:]
        project(conn, page, guard)
        reached("page replayed")
    for slot in taken:
        take_slot(conn, None, slot.tty, slot.route)
    conn.execute("DROP TABLE IF EXISTS projections_stale")
    return count


def _rows(conn: Connection, after: int) -> list[Any]:
    return conn.execute(_PAGE_SQL, (after, PAGE)).fetchall()


def _entry(
    seq: int,
    conversation_id: str | None,
    turn_id: str | None,
    kind: str,
    payload: str,
    at_us: int,
) -> Entry:
    """An event of the log, decoded only when a rule reads it."""
    body = payload.encode()
    event: ev.Event | None = None
    if kind in KINDS:
        try:
            event = ev.decode_event(kind, body)
        except BadValue as exc:
            log.warning("event %d (%s) cannot be read: %s", seq, kind, exc)
    return Entry(seq, conversation_id, turn_id, kind, body, at_us, event)
