"""Queries of conversations, their turns and questions. Each takes any connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from efr.store.db import Connection
from efr.store.rows import ConversationRow, PendingQuestion, TurnRow
from efr.wire import codec
from efr.wire import types as t

_CONVERSATION: Final = (
    "SELECT id, origin, title, status, tty, cwd, scope, route, shell_pid, routed_seq, created_at,"
    " updated_at, last_seq, (SELECT created_at FROM events WHERE seq = routed_seq)"
    " FROM conversations"
)
_TURN: Final = (
    "SELECT id, conversation_id, command_id, prompt, status, queued_seq, started_at, ended_at,"
    " last_seq, wake FROM turns"
)
_QUESTION: Final = (
    "SELECT id, conversation_id, turn_id, call_id, about, requested_seq, requested_at, request"
    " FROM approvals WHERE state = 'pending'"
)


def conversation(conn: Connection, conversation_id: str) -> ConversationRow | None:
    """One conversation; None for an unknown or deleted one."""
    found = _conversations(conn, f"{_CONVERSATION} WHERE id = ?", (conversation_id,))
    return found[0] if found else None


def conversations_page(
    conn: Connection, before_last_seq: int | None, limit: int
) -> list[ConversationRow]:
    """At most `limit` conversations by their newest event, newest first, below a number."""
    if before_last_seq is None:
        return _conversations(conn, f"{_CONVERSATION} ORDER BY last_seq DESC LIMIT ?", (limit,))
    return _conversations(
        conn,
        f"{_CONVERSATION} WHERE last_seq < ? ORDER BY last_seq DESC LIMIT ?",
        (before_last_seq, limit),
    )


def conversations_of_tty(conn: Connection, tty: str) -> list[ConversationRow]:
    """The conversations in the slots of a terminal, the current one first."""
    return _conversations(
        conn, f"{_CONVERSATION} WHERE tty = ? ORDER BY routed_seq DESC, last_seq DESC", (tty,)
    )


def conversations_recent(conn: Connection, limit: int) -> list[ConversationRow]:
    """At most `limit` conversations by the time of their newest event, newest first."""
    return _conversations(
        conn, f"{_CONVERSATION} ORDER BY updated_at DESC, last_seq DESC LIMIT ?", (limit,)
    )


def conversations_of_route(
    conn: Connection, route: t.RouteScope, limit: int
) -> list[ConversationRow]:
    """Conversations of a route that a terminal once held, the newest event first."""
    return _conversations(
        conn,
        f"{_CONVERSATION} WHERE route = ? AND routed_seq IS NOT NULL"
        " ORDER BY last_seq DESC LIMIT ?",
        (codec.encode(route).decode(), limit),
    )


def slots(conn: Connection) -> list[ConversationRow]:
    """Every conversation that is in a slot of a terminal, the newest use last."""
    return _conversations(conn, f"{_CONVERSATION} WHERE tty IS NOT NULL ORDER BY routed_seq", ())


def conversations_of_scope(
    conn: Connection, route: t.RouteScope, limit: int, *, others: bool
) -> list[ConversationRow]:
    """At most `limit` conversations of a route, or of all `others`, as `conversations_recent`."""
    fits = "route IS NOT ?" if others else "route = ?"
    return _conversations(
        conn,
        f"{_CONVERSATION} WHERE {fits} ORDER BY updated_at DESC, last_seq DESC LIMIT ?",
        (codec.encode(route).decode(), limit),
    )


def last_directory(conn: Connection, conversation_id: str) -> str | None:
    """Where the conversation last was: its newest turn or its hidden shell, whichever is later."""
    found: Any = conn.execute(
        "SELECT json_extract(payload, '$.cwd') FROM events WHERE conversation_id = ?"
        " AND kind IN ('turn_started', 'shell_started', 'cwd_changed') ORDER BY seq DESC LIMIT 1",
        (conversation_id,),
    ).fetchone()
    return None if found is None else found[0]


def prompt_turns(conn: Connection, conversation_ids: Sequence[str]) -> dict[str, int]:
    """How many turns prompts asked for, by conversation; those without one are left out.

    Not those that a job notice started, nor prompts that were taken back.
    """
    marks = ", ".join("?" * len(conversation_ids))
    return dict(
        conn.execute(
            "SELECT conversation_id, count(*) FROM turns WHERE wake = 0 AND status != 'withdrawn'"
            f" AND conversation_id IN ({marks}) GROUP BY conversation_id",
            tuple(conversation_ids),
        )
    )


def summary(row: ConversationRow) -> t.ConversationSummary:
    """The row as the protocol shows it; secrets of the title are still in it."""
    return t.ConversationSummary(
        id=row.id,
        title=row.title,
        status=row.status,
        created_at=t.time_from_us(row.created_at),
        updated_at=t.time_from_us(row.updated_at),
        last_seq=row.last_seq,
        cwd=row.cwd,
        scope=row.scope,
        tty=row.tty,
    )


def turns(conn: Connection, conversation_id: str) -> list[TurnRow]:
    """Every turn of a conversation, in the order they were queued."""
    rows = conn.execute(
        f"{_TURN} WHERE conversation_id = ? ORDER BY queued_seq", (conversation_id,)
    )
    return [_turn(row) for row in rows]


def turn(conn: Connection, turn_id: str) -> TurnRow | None:
    """One turn, or None."""
    row = conn.execute(f"{_TURN} WHERE id = ?", (turn_id,)).fetchone()
    return None if row is None else _turn(row)


def open_turns(conn: Connection) -> list[TurnRow]:
    """Every turn that is queued, held or running, in the order they were queued."""
    rows = conn.execute(
        f"{_TURN} WHERE status IN ('queued', 'held', 'running') ORDER BY queued_seq"
    )
    return [_turn(row) for row in rows]


def pending_approvals(conn: Connection, conversation_id: str | None) -> list[PendingQuestion]:
    """The open questions of a conversation, or of all of them, oldest first."""
    if conversation_id is None:
        rows = conn.execute(f"{_QUESTION} ORDER BY requested_seq")
    else:
        rows = conn.execute(
            f"{_QUESTION} AND conversation_id = ? ORDER BY requested_seq", (conversation_id,)
        )
    return [_question(row) for row in rows]


def _conversations(conn: Connection, sql: str, values: Sequence[Any]) -> list[ConversationRow]:
    return [_conversation(row) for row in conn.execute(sql, values)]


def _conversation(row: Any) -> ConversationRow:
    values = list(row)
    values[3] = t.ConversationStatus(row[3])
    values[6] = None if row[6] is None else codec.decode(row[6].encode(), t.Scope)
    values[7] = None if row[7] is None else codec.decode(row[7].encode(), t.RouteScope)
    return ConversationRow(*values)


def _turn(row: Any) -> TurnRow:
    values = list(row)
    values[9] = bool(row[9])
    return TurnRow(*values)


def _question(row: Any) -> PendingQuestion:
    values = list(row)
    values[7] = row[7].encode()
    return PendingQuestion(*values)
