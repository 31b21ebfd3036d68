"""The projection `approvals`: questions about a tool call, and about changed surfaces.

A question is named by the call it is about, or by its own id for a surface. state: pending,
answered, expired. Asked again, a question is open again.
"""

from __future__ import annotations

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections.events import event_of
from efr.wire import events as ev


def approval_requested(conn: Connection, entry: Entry) -> None:
    """A call waits for a yes."""
    event = event_of(entry, ev.ApprovalRequested)
    _ask(conn, entry, event.call_id, event.call_id, "call")


def surface_requested(conn: Connection, entry: Entry) -> None:
    """A call changed a surface; keep it?"""
    event = event_of(entry, ev.SurfaceQuestionRequested)
    _ask(conn, entry, event.question_id, event.call_id, "surface")


def _ask(conn: Connection, entry: Entry, question_id: str, call_id: str, about: str) -> None:
    conn.execute(
        "INSERT OR REPLACE INTO approvals (id, conversation_id, turn_id, call_id, about, state,"
        " requested_seq, requested_at, request) VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?)",
        (
            question_id,
            entry.conversation_id,
            entry.turn_id,
            call_id,
            about,
            entry.seq,
            entry.at_us,
            entry.payload.decode(),
        ),
    )


def approval_resolved(conn: Connection, entry: Entry) -> None:
    """Somebody answered."""
    event = event_of(entry, ev.ApprovalResolved)
    _end(conn, entry, event.call_id, "answered", event.decision.value, event.origin.value)


def approval_expired(conn: Connection, entry: Entry) -> None:
    """Nobody answered in time."""
    _end(conn, entry, event_of(entry, ev.ApprovalExpired).call_id, "expired", None, None)


def surface_answered(conn: Connection, entry: Entry) -> None:
    """Kept or not; without an origin nobody answered."""
    event = event_of(entry, ev.SurfaceQuestionAnswered)
    state = "expired" if event.origin is None else "answered"
    origin = None if event.origin is None else event.origin.value
    _end(conn, entry, event.question_id, state, "keep" if event.keep else "discard", origin)


def _end(
    conn: Connection,
    entry: Entry,
    question_id: str,
    state: str,
    answer: str | None,
    origin: str | None,
) -> None:
    conn.execute(
        "UPDATE approvals SET state = ?, answer = ?, origin = ?, ended_seq = ?, ended_at = ?"
        " WHERE id = ? AND state = 'pending'",
        (state, answer, origin, entry.seq, entry.at_us, question_id),
    )


def turn_ended(conn: Connection, entry: Entry) -> None:
    """Nobody can answer for a turn that is over."""
    conn.execute(
        "UPDATE approvals SET state = 'expired', ended_seq = ?, ended_at = ?"
        " WHERE conversation_id = ? AND turn_id = ? AND state = 'pending'",
        (entry.seq, entry.at_us, entry.conversation_id, entry.turn_id),
    )


def is_pending(conn: Connection, question_id: str) -> bool:
    """Whether somebody may still answer."""
    found = conn.execute(
        "SELECT 1 FROM approvals WHERE id = ? AND state = 'pending'", (question_id,)
    ).fetchone()
    return found is not None
