"""The projection `shells`: the hidden shells, and the command that one was left running."""

from __future__ import annotations

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections.events import event_of
from efr.wire import events as ev


def started(conn: Connection, entry: Entry) -> None:
    """A shell of this conversation runs."""
    event = event_of(entry, ev.ShellStarted)
    conn.execute(
        "INSERT INTO shells (pty_id, conversation_id, cwd, pid, started_seq, started_at)"
        " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (event.pty_id, entry.conversation_id, event.cwd, event.pid, entry.seq, entry.at_us),
    )


def exited(conn: Connection, entry: Entry) -> None:
    """It is gone, and what it ran with it."""
    event = event_of(entry, ev.ShellExited)
    conn.execute(
        "UPDATE shells SET exited_at = ?, exit_code = ?, running_call = NULL WHERE pty_id = ?",
        (entry.at_us, event.exit_code, event.pty_id),
    )


def cwd_changed(conn: Connection, entry: Entry) -> None:
    """Where the shell is."""
    event = event_of(entry, ev.CwdChanged)
    conn.execute(
        "UPDATE shells SET cwd = ?, host = ? WHERE pty_id = ?",
        (event.cwd, event.host, event.pty_id),
    )


def command_detached(conn: Connection, entry: Entry) -> None:
    """A call left its command running in the conversation's shell."""
    event = event_of(entry, ev.ShellCommandDetached)
    conn.execute(
        "UPDATE shells SET running_call = ? WHERE conversation_id = ? AND exited_at IS NULL",
        (event.call_id, entry.conversation_id),
    )


def command_ended(conn: Connection, entry: Entry) -> None:
    """That command ended."""
    event = event_of(entry, ev.ShellCommandEnded)
    conn.execute(
        "UPDATE shells SET running_call = NULL WHERE conversation_id = ? AND running_call = ?",
        (entry.conversation_id, event.call_id),
    )
