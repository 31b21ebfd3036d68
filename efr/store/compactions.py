"""Queries about what the model reads: compactions, ends of turns, steers, counted tokens.

Each takes any connection.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from efr.store.db import Connection
from efr.store.rows import StoredCompaction

_ENDS: Final = "('turn_completed', 'turn_failed', 'turn_interrupted', 'turn_cancelled')"


class CompactionRow(Struct, frozen=True, gc=False):
    """A compaction without its texts. `at` is in microseconds since 1970."""

    seq: int
    at: int
    trigger: str
    tokens_before: int
    tokens_after: int


class CountedUse(Struct, frozen=True, gc=False):
    """What a turn's end or a compaction says of its model calls. turn_id: None for the latter."""

    seq: int
    turn_id: str | None
    input_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    context_tokens: int


def newest_compaction(
    conn: Connection, conversation_id: str, *, with_summary: bool
) -> StoredCompaction | None:
    """The newest compaction of a conversation, or the newest that has a summary."""
    return _newest(conn, conversation_id, "AND has_summary = 1" if with_summary else "")


def newest_pruning(conn: Connection, conversation_id: str) -> StoredCompaction | None:
    """The newest compaction that only pruned outputs."""
    return _newest(conn, conversation_id, "AND has_summary = 0")


def _newest(conn: Connection, conversation_id: str, only: str) -> StoredCompaction | None:
    row: Any = conn.execute(
        "SELECT seq, has_summary, compaction FROM compactions"
        f" WHERE conversation_id = ? {only} ORDER BY seq DESC LIMIT 1",
        (conversation_id,),
    ).fetchone()
    return None if row is None else StoredCompaction(row[0], bool(row[1]), row[2].encode())


def compactions(conn: Connection, conversation_id: str) -> list[CompactionRow]:
    """Every compaction of a conversation, oldest first."""
    rows = conn.execute(
        "SELECT c.seq, e.created_at, json_extract(c.compaction, '$.trigger'),"
        " json_extract(c.compaction, '$.tokens_before'),"
        " json_extract(c.compaction, '$.tokens_after')"
        " FROM compactions c JOIN events e ON e.seq = c.seq"
        " WHERE c.conversation_id = ? ORDER BY c.seq",
        (conversation_id,),
    )
    return [CompactionRow(*row) for row in rows]


def counted_use(conn: Connection, conversation_id: str) -> list[CountedUse]:
    """Each end of a turn and each compaction that a provider counted, oldest first."""
    rows = conn.execute(
        "SELECT seq, turn_id, kind, json_extract(payload, '$.usage.input_tokens'),"
        " json_extract(payload, '$.usage.cached_input_tokens'),"
        " json_extract(payload, '$.usage.cache_write_tokens'),"
        " json_extract(payload, '$.usage.context_tokens')"
        f" FROM events WHERE conversation_id = ? AND (kind IN {_ENDS}"
        " OR kind = 'conversation_compacted')"
        " AND json_extract(payload, '$.usage.input_tokens') IS NOT NULL ORDER BY seq",
        (conversation_id,),
    )
    return [
        CountedUse(
            seq,
            None if kind == "conversation_compacted" else turn_id,
            *(count or 0 for count in counts),
        )
        for seq, turn_id, kind, *counts in rows
    ]


def resent_steers(conn: Connection, conversation_id: str, after_seq: int) -> set[int]:
    """The numbers of the steers that became prompts queued after that event."""
    rows = conn.execute(
        "SELECT s.value FROM events e, json_each(e.payload, '$.steers') s"
        " WHERE e.conversation_id = ? AND e.seq > ? AND e.kind = 'prompt_queued'",
        (conversation_id, after_seq),
    )
    return {int(seq) for (seq,) in rows}


def turn_end(conn: Connection, conversation_id: str, turn_id: str) -> int | None:
    """The number of the event that ended a turn; None while it runs. Later events of a turn, such
    as those of a command that it left running, do not count."""
    return _first_event(conn, conversation_id, turn_id, _ENDS)


def turn_start(conn: Connection, conversation_id: str, turn_id: str) -> int | None:
    """The number of the event that started a turn."""
    return _first_event(conn, conversation_id, turn_id, "('turn_started')")


def _first_event(conn: Connection, conversation_id: str, turn_id: str, kinds: str) -> int | None:
    row: Any = conn.execute(
        "SELECT e.seq FROM turns t JOIN events e ON e.conversation_id = t.conversation_id"
        " AND e.seq BETWEEN t.queued_seq AND t.last_seq"
        f" WHERE t.id = ? AND e.conversation_id = ? AND e.turn_id = t.id AND e.kind IN {kinds}"
        " ORDER BY e.seq LIMIT 1",
        (turn_id, conversation_id),
    ).fetchone()
    return None if row is None else int(row[0])
