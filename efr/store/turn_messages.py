"""The exact messages of turns, with the provider's own items.

Written in the batch of a turn's end, and of a compaction within the turn; deleted in the batch of a
summary that covers the turn. The log cannot give them back: a rebuild leaves them alone.
"""

from __future__ import annotations

from msgspec import Struct

from efr.store.batch import Batch, Entry
from efr.store.compactions import turn_end
from efr.store.db import Connection
from efr.wire import events as ev


class SavedMessage(Struct, frozen=True, gc=False):
    """A message of a turn; `turn_seq` is the number of the turn's last event at that time."""

    turn_id: str
    position: int
    provider: str
    model: str
    message: bytes
    turn_seq: int


def save(conn: Connection, batch: Batch, first_seq: int) -> None:
    """Keeps a batch's messages under the number of their turn's last event in it."""
    conversation_id = batch.messages_conversation
    if conversation_id is None and batch.events:
        conversation_id = batch.events[0].conversation_id
    ends = {ev.turn_of(new.event): first_seq + i for i, new in enumerate(batch.events)}
    conn.executemany(
        "INSERT OR REPLACE INTO turn_messages"
        " (conversation_id, turn_id, position, provider, model, message, turn_seq)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (
                conversation_id,
                m.turn_id,
                m.position,
                m.provider,
                m.model,
                m.message.decode(),
                ends[m.turn_id],
            )
            for m in batch.messages
        ],
    )


def turn_messages(conn: Connection, conversation_id: str) -> list[SavedMessage]:
    """Every kept message of a conversation, in the order of the turns and of each turn."""
    rows = conn.execute(
        "SELECT turn_id, position, provider, model, message, turn_seq FROM turn_messages"
        " WHERE conversation_id = ? ORDER BY turn_seq, position",
        (conversation_id,),
    )
    return [SavedMessage(a, b, c, d, message.encode(), seq) for a, b, c, d, message, seq in rows]


def drop_covered(conn: Connection, entry: Entry, event: ev.ConversationCompacted) -> None:
    """Deletes the messages of the turns that a new summary covers whole.

    Turns run one after another, so the numbers of their ends order them. A turn that still runs
    has no messages yet, and every other turn is before it.
    """
    conversation_id = entry.conversation_id
    if event.summary is None or conversation_id is None:
        return
    cut = turn_end(conn, conversation_id, event.through_turn)
    whole = event.through_message is None
    conn.execute(
        "DELETE FROM turn_messages WHERE conversation_id = ?1 AND turn_seq <= ?2"
        " AND (?3 OR turn_id <> ?4)",
        (conversation_id, entry.seq if cut is None else cut, whole, event.through_turn),
    )
