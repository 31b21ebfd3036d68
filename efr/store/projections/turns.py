"""The projection `turns`: one row per prompt, and per turn that a job notice started.

status: queued, held and running are unfinished; completed, failed, interrupted, cancelled and
withdrawn are ends. An end also closes the questions that the turn left open.
"""

from __future__ import annotations

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections import conversations, questions
from efr.store.projections.events import event_of
from efr.wire import events as ev


def prompt_queued(conn: Connection, entry: Entry) -> None:
    """A turn that waits for its start."""
    event = event_of(entry, ev.PromptQueued)
    _insert(conn, entry, event.text, event.command_id, wake=False)
    conversations.prompted(conn, entry, event)


def woken(conn: Connection, entry: Entry, text: str) -> None:
    """A turn that a job notice starts; its prompt is the notice's text."""
    _insert(conn, entry, text, None, wake=True)


def _insert(
    conn: Connection, entry: Entry, prompt: str, command_id: str | None, *, wake: bool
) -> None:
    conn.execute(
        "INSERT INTO turns (id, conversation_id, command_id, prompt, status, queued_seq, last_seq,"
        " wake) VALUES (?, ?, ?, ?, 'queued', ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            entry.turn_id,
            entry.conversation_id,
            command_id,
            prompt,
            entry.seq,
            entry.seq,
            int(wake),
        ),
    )


def started(conn: Connection, entry: Entry) -> None:
    """The turn runs."""
    event = event_of(entry, ev.TurnStarted)
    conn.execute(
        "UPDATE turns SET status = 'running', started_at = ? WHERE id = ?",
        (entry.at_us, entry.turn_id),
    )
    conversations.turn_started(conn, entry, event)


def held(conn: Connection, entry: Entry) -> None:
    """Only in logs of earlier daemons."""
    conn.execute("UPDATE turns SET status = 'held' WHERE id = ?", (entry.turn_id,))


def completed(conn: Connection, entry: Entry) -> None:
    """The turn ended by itself."""
    _end(conn, entry, "completed")


def failed(conn: Connection, entry: Entry) -> None:
    """The turn ended by a fault; it may never have started."""
    _end(conn, entry, "failed")


def interrupted(conn: Connection, entry: Entry) -> None:
    """The user stopped it."""
    _end(conn, entry, "interrupted")


def cancelled(conn: Connection, entry: Entry) -> None:
    """A start of the daemon found it unfinished."""
    _end(conn, entry, "cancelled")


def withdrawn(conn: Connection, entry: Entry) -> None:
    """The prompt was taken back before it started."""
    _end(conn, entry, "withdrawn")


def _end(conn: Connection, entry: Entry, status: str) -> None:
    conn.execute(
        "UPDATE turns SET status = ?, ended_at = ? WHERE id = ?",
        (status, entry.at_us, entry.turn_id),
    )
    questions.turn_ended(conn, entry)
