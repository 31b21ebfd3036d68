"""The projection `compactions`: one row per conversation_compacted."""

from __future__ import annotations

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections.events import event_of
from efr.wire import events as ev


def compacted(conn: Connection, entry: Entry) -> None:
    """The compaction as the log has it, without the event's tag."""
    event = event_of(entry, ev.ConversationCompacted)
    conn.execute(
        "INSERT INTO compactions (seq, conversation_id, compaction_id, has_summary, compaction)"
        " VALUES (?, ?, ?, ?, json_remove(?, '$.kind')) ON CONFLICT DO NOTHING",
        (
            entry.seq,
            entry.conversation_id,
            event.compaction_id,
            int(event.summary is not None),
            entry.payload.decode(),
        ),
    )
