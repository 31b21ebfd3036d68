"""The end of a conversation in the projections: a tombstone, and no other row.

The tombstone names what has to go from the disk later: the PTYs and the undos that the
conversation's events name. It is no projection itself and a rebuild leaves it alone.
"""

from __future__ import annotations

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections.events import json_of


def deleted(conn: Connection, entry: Entry) -> None:
    """Writes the tombstone and deletes the conversation's rows of every projection."""
    parts = {
        "ptys": _named(conn, entry, "shell_started", "$.pty_id"),
        "undos": _named(conn, entry, "undo_applied", "$.undo_id"),
    }
    conn.execute(
        "INSERT INTO conversation_deletes (conversation_id, seq, requested_at, parts)"
        " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (entry.conversation_id, entry.seq, entry.at_us, json_of(parts)),
    )
    for table in ("job_notices", "jobs", "compactions", "shells", "approvals", "turns"):
        conn.execute(f"DELETE FROM {table} WHERE conversation_id = ?", (entry.conversation_id,))
    conn.execute("DELETE FROM conversations WHERE id = ?", (entry.conversation_id,))


def _named(conn: Connection, entry: Entry, kind: str, member: str) -> list[str]:
    """A member of every event of that kind, in the order of the log."""
    rows = conn.execute(
        "SELECT payload ->> ? FROM events WHERE conversation_id = ? AND kind = ? ORDER BY seq",
        (member, entry.conversation_id, kind),
    )
    return [str(row[0]) for row in rows]
