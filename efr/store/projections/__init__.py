"""The projections: rows that say what the log adds up to, kept for lists and pages.

`project` brings them up to date with some events; in a batch it runs in the batch's transaction,
in a rebuild over the whole log. Both must give the same rows, so a rule here is a function of the
event and of the rows before it, and never fails on an odd log. What a batch may not do is the
`Guard`'s subject, asked before each rule. Each table's rules stand in a module of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections import (
    compactions,
    conversations,
    deletes,
    jobs,
    questions,
    shells,
    turns,
)
from efr.wire import events as ev

Rule = Callable[[Connection, Entry], None]


class Guard(Protocol):
    """Says no to events that a batch may not hold, or makes up for what an old log lacks."""

    def missing(self, conn: Connection, entry: Entry) -> None:
        """The first of these events of a conversation that has no row."""

    def check(self, conn: Connection, entry: Entry) -> None:
        """Before each rule."""


# Children before parents: the order in which a rebuild and a delete empty them.
TABLES: Final = (
    "job_notices",
    "jobs",
    "compactions",
    "shells",
    "approvals",
    "turns",
    "conversations",
)

RULES: Final[dict[type, Rule]] = {
    ev.ConversationCreated: conversations.created,
    ev.ConversationDeleted: deletes.deleted,
    ev.TerminalAttached: conversations.attached,
    ev.PromptQueued: turns.prompt_queued,
    ev.PromptWithdrawn: turns.withdrawn,
    ev.PromptHeld: turns.held,
    ev.TurnStarted: turns.started,
    ev.ScopeChanged: conversations.scope_changed,
    ev.TurnCompleted: turns.completed,
    ev.TurnFailed: turns.failed,
    ev.TurnInterrupted: turns.interrupted,
    ev.TurnCancelled: turns.cancelled,
    ev.ApprovalRequested: questions.approval_requested,
    ev.ApprovalResolved: questions.approval_resolved,
    ev.ApprovalExpired: questions.approval_expired,
    ev.SurfaceQuestionRequested: questions.surface_requested,
    ev.SurfaceQuestionAnswered: questions.surface_answered,
    ev.ConversationCompacted: compactions.compacted,
    ev.JobStarted: jobs.started,
    ev.JobWatchMatched: jobs.watch_matched,
    ev.JobEnded: jobs.ended,
    ev.JobNotice: jobs.noticed,
    ev.JobNoticeHeld: jobs.notice_held,
    ev.ShellStarted: shells.started,
    ev.ShellExited: shells.exited,
    ev.CwdChanged: shells.cwd_changed,
    ev.ShellCommandDetached: shells.command_detached,
    ev.ShellCommandEnded: shells.command_ended,
}

# The kinds that a rebuild has to decode.
KINDS: Final = frozenset(kind for kind, declared in ev.EVENTS.items() if declared in RULES)

# Kinds after which a conversation may be idle, running or waiting for an answer.
_CHANGES_STATUS: Final = frozenset(
    {
        ev.TurnStarted,
        ev.TurnCompleted,
        ev.TurnFailed,
        ev.TurnInterrupted,
        ev.TurnCancelled,
        ev.ApprovalRequested,
        ev.ApprovalResolved,
        ev.ApprovalExpired,
        ev.SurfaceQuestionRequested,
        ev.SurfaceQuestionAnswered,
    }
)

# Kinds that are no activity: somebody looked away, or a shell that nobody used was closed. A
# conversation keeps its place in the lists, and the clock that ends it after hours goes on.
_QUIET: Final = frozenset({"presence_changed", "shell_exited"})


def project(conn: Connection, entries: Sequence[Entry], guard: Guard) -> None:
    """Brings every projection up to date with these events, which follow those before.

    Where a conversation and a turn are (`last_seq`, `updated_at`, `status`) is written once for
    all of the entries, not once for each: most events change nothing else. A conversation's are
    those of its newest event that is activity.
    """
    first: dict[str, Entry] = {}
    newest: dict[str, Entry] = {}
    turn_seqs: dict[str, int] = {}
    special: list[tuple[Entry, Rule]] = []
    for entry in entries:
        if (conversation_id := entry.conversation_id) is not None:
            if conversation_id not in first:
                first[conversation_id] = entry
            if entry.kind not in _QUIET:
                newest[conversation_id] = entry
        if (turn_id := entry.turn_id) is not None:
            turn_seqs[turn_id] = entry.seq
        if (rule := RULES.get(type(entry.event))) is not None:
            special.append((entry, rule))
    _enter(conn, first, newest, guard)
    for entry, rule in special:
        guard.check(conn, entry)
        rule(conn, entry)
    _leave(conn, first, newest, turn_seqs)
    for stale in {e.conversation_id for e, _ in special if type(e.event) in _CHANGES_STATUS}:
        conversations.refresh_status(conn, stale)


def empty(conn: Connection) -> None:
    """Deletes every row of every projection."""
    for table in TABLES:
        conn.execute(f"DELETE FROM {table}")


def _enter(
    conn: Connection, first: dict[str, Entry], newest: dict[str, Entry], guard: Guard
) -> None:
    """Moves the conversations that exist to their newest event; the guard gets the others."""
    for conversation_id, opening in first.items():
        if isinstance(opening.event, ev.ConversationCreated):
            continue
        entry = newest.get(conversation_id)
        if not _touch(conn, conversation_id, entry):
            guard.missing(conn, opening)  # raises, or makes the row
            _touch(conn, conversation_id, entry)


def _leave(
    conn: Connection,
    first: dict[str, Entry],
    newest: dict[str, Entry],
    turn_seqs: dict[str, int],
) -> None:
    """The same for what these events made: new conversations, and all turns."""
    for conversation_id, opening in first.items():
        entry = newest.get(conversation_id)
        if entry is not opening and isinstance(opening.event, ev.ConversationCreated):
            _touch(conn, conversation_id, entry)
    for turn_id, seq in turn_seqs.items():
        conn.execute("UPDATE turns SET last_seq = ? WHERE id = ?", (seq, turn_id))


def _touch(conn: Connection, conversation_id: str, entry: Entry | None) -> bool:
    """Moves a conversation to that event, if any; says whether there is such a conversation."""
    if entry is None:
        found = conn.execute("SELECT 1 FROM conversations WHERE id = ?", (conversation_id,))
        return found.fetchone() is not None
    conn.execute(_TOUCH_CONVERSATION, (entry.seq, entry.at_us, conversation_id))
    return conn.changes() > 0


_TOUCH_CONVERSATION: Final = "UPDATE conversations SET last_seq = ?, updated_at = ? WHERE id = ?"
