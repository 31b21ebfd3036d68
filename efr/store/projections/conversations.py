"""The projection `conversations`: title, directory, scope, status, and the terminals' slots.

A slot is a terminal and a route (a registered project, or everything outside). The row with that
tty and route is the slot's conversation; of a terminal's rows the one with the largest
`routed_seq` is current.
"""

from __future__ import annotations

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections.events import event_of, json_of
from efr.text.title import title_of
from efr.wire import events as ev
from efr.wire import types as t


def created(conn: Connection, entry: Entry) -> None:
    """A row; with a terminal it takes the slot from whoever had it."""
    event = event_of(entry, ev.ConversationCreated)
    route = None if event.route is None else json_of(event.route)
    conn.execute(
        "INSERT INTO conversations (id, origin, tty, route, routed_seq, created_at, updated_at,"
        " last_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            entry.conversation_id,
            event.origin.value,
            event.tty,
            route,
            None if event.tty is None else entry.seq,
            entry.at_us,
            entry.at_us,
            entry.seq,
        ),
    )
    if event.tty is not None:
        take_slot(conn, entry.conversation_id, event.tty, route)


def attached(conn: Connection, entry: Entry) -> None:
    """The conversation moves into a slot of that terminal."""
    event = event_of(entry, ev.TerminalAttached)
    route = json_of(event.route)
    conn.execute(
        "UPDATE conversations SET tty = ?, route = ?, shell_pid = ?, routed_seq = ? WHERE id = ?",
        (event.tty, route, event.shell_pid, entry.seq, entry.conversation_id),
    )
    take_slot(conn, entry.conversation_id, event.tty, route)


def take_slot(conn: Connection, new_id: str | None, tty: str, route: str | None) -> None:
    """Everybody but `new_id` leaves the slot. Logs from before routing have no route: there a
    conversation was the only one of its terminal."""
    conn.execute(
        "UPDATE conversations SET tty = NULL, shell_pid = NULL"
        " WHERE tty = ?1 AND id IS NOT ?2 AND (?3 IS NULL OR route = ?3)",
        (tty, new_id, route),
    )


def prompted(conn: Connection, entry: Entry, event: ev.PromptQueued) -> None:
    """The first prompt gives the title; each one the directory, and the slot its newest use."""
    conn.execute(
        "UPDATE conversations SET title = coalesce(title, ?) WHERE id = ?",
        (title_of(event.text) or None, entry.conversation_id),
    )
    if (context := event.context) is None:
        return
    conn.execute(
        "UPDATE conversations SET cwd = ? WHERE id = ?", (context.pwd, entry.conversation_id)
    )
    conn.execute(
        "UPDATE conversations SET routed_seq = ?, shell_pid = coalesce(shell_pid, ?)"
        " WHERE id = ? AND tty = ?",
        (entry.seq, context.shell_pid, entry.conversation_id, context.tty),
    )


def turn_started(conn: Connection, entry: Entry, event: ev.TurnStarted) -> None:
    """Where the turn acts; a conversation without a route gets the one of that scope."""
    conn.execute(
        "UPDATE conversations SET cwd = ?, scope = ?, route = coalesce(route, ?) WHERE id = ?",
        (event.cwd, json_of(event.scope), json_of(route_of(event.scope)), entry.conversation_id),
    )


def scope_changed(conn: Connection, entry: Entry) -> None:
    """The scope of the last turn."""
    event = event_of(entry, ev.ScopeChanged)
    conn.execute(
        "UPDATE conversations SET scope = ? WHERE id = ?",
        (json_of(event.to), entry.conversation_id),
    )


def route_of(scope: t.Scope) -> t.RouteScope:
    """The key of a terminal's slot for a scope: the project, or outside of all."""
    if isinstance(scope, t.ScopeProject):
        return t.RouteProject(value=scope.value)
    return t.RouteOutside()


def refresh_status(conn: Connection, conversation_id: str | None) -> None:
    """idle, running, or awaiting_approval, from the turns and the questions."""
    conn.execute(_REFRESH, (conversation_id,))


_REFRESH = """
UPDATE conversations SET status = CASE
    WHEN NOT EXISTS (SELECT 1 FROM turns
        WHERE status = 'running' AND conversation_id = ?1) THEN 'idle'
    WHEN EXISTS (SELECT 1 FROM approvals JOIN turns ON turns.id = approvals.turn_id
        WHERE approvals.conversation_id = ?1 AND approvals.state = 'pending'
        AND turns.status = 'running') THEN 'awaiting_approval'
    ELSE 'running' END
WHERE id = ?1
"""
