"""The end of a conversation in the projections: a tombstone, and no other row.

The tombstone names what has to go from the disk later (the PTYs and the undos that the
conversation's events name), and the slots that it took from other conversations: its events leave
the log, but what they did to others must come out of a rebuild too. The tombstone is no projection
itself; a rebuild leaves it alone.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections.events import json_of
from efr.store.projections.takings import with_uses
from efr.text.redact import redact_title


def deleted(conn: Connection, entry: Entry) -> None:
    """Writes the tombstone and deletes the conversation's rows of every projection."""
    parts = {
        "ptys": _named(conn, entry, "shell_started", "$.pty_id"),
        "undos": _named(conn, entry, "undo_applied", "$.undo_id"),
        "slots": with_uses(conn, str(entry.conversation_id), entry.seq),
    }
    conn.execute(
        "INSERT INTO conversation_deletes (conversation_id, seq, requested_at, parts)"
        " SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS"
        " (SELECT 1 FROM conversation_deletes WHERE conversation_id = ?1)",
        (entry.conversation_id, entry.seq, entry.at_us, json_of(parts)),
    )
    _drop_answers(conn, entry)
    for table in ("job_notices", "jobs", "compactions", "shells", "approvals", "turns"):
        conn.execute(f"DELETE FROM {table} WHERE conversation_id = ?", (entry.conversation_id,))
    conn.execute("DELETE FROM conversations WHERE id = ?", (entry.conversation_id,))


def _drop_answers(conn: Connection, entry: Entry) -> None:
    """The stored answers without an event that name the conversation, by its id or by its title.

    Those with an event go with that event.
    """
    title = conn.execute(
        "SELECT title FROM conversations WHERE id = ?", (entry.conversation_id,)
    ).get
    conn.execute(
        "DELETE FROM receipts WHERE seq IS NULL AND (result ->> '$.conversation_id' = ?1"
        " OR result ->> '$.title' IN (?2,"
        " (SELECT title FROM search_titles WHERE conversation_id = ?1)))",
        (entry.conversation_id, None if title is None else redact_title(str(title))),
    )


class SlotTaken(NamedTuple):
    """A taking (see Taking) of a conversation that is deleted now."""

    seq: int
    tty: str
    route: str | None
    shell_pid: int | None
    used_seq: int | None
    used_at: int | None
    conversation_id: str


def slots_taken(conn: Connection) -> list[SlotTaken]:
    """What every deleted conversation did to the slots, in the order of the log."""
    rows: list[Any] = conn.execute(
        "SELECT slot.value ->> 0, slot.value ->> 1, slot.value ->> 2, slot.value ->> 3,"
        " slot.value ->> 4, slot.value ->> 5, conversation_id"
        " FROM conversation_deletes, json_each(parts, '$.slots') AS slot ORDER BY 1"
    ).fetchall()
    return [SlotTaken(*row) for row in rows]


def _named(conn: Connection, entry: Entry, kind: str, member: str) -> list[str]:
    """A member of every event of that kind, in the order of the log."""
    rows = conn.execute(
        "SELECT payload ->> ? FROM events WHERE conversation_id = ? AND kind = ? ORDER BY seq",
        (member, entry.conversation_id, kind),
    )
    return [str(row[0]) for row in rows]
