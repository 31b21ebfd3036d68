"""What a batch may not do: the rules that are checked inside its transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.errors import (
    ConversationExists,
    DeletedConversation,
    NotPending,
    UnknownConversation,
)
from efr.store.projections.questions import is_pending
from efr.wire import events as ev


class Refusing:
    """The guard of an append."""

    def missing(self, conn: Connection, entry: Entry) -> None:
        """An event of a conversation that is not there."""
        conversation_id = str(entry.conversation_id)
        if _was_deleted(conn, conversation_id):
            raise DeletedConversation(conversation_id)
        raise UnknownConversation(conversation_id)

    def check(self, conn: Connection, entry: Entry) -> None:
        """An event that its kind's rule may refuse."""
        if (rule := _RULES.get(type(entry.event))) is not None:
            rule(conn, entry)


def _is_new(conn: Connection, entry: Entry) -> None:
    conversation_id = str(entry.conversation_id)
    if _was_deleted(conn, conversation_id):
        raise DeletedConversation(conversation_id)
    found = conn.execute("SELECT 1 FROM conversations WHERE id = ?", (conversation_id,))
    if found.fetchone() is not None:
        raise ConversationExists(conversation_id)


def _call_waits(conn: Connection, entry: Entry) -> None:
    assert isinstance(entry.event, ev.ApprovalResolved | ev.ApprovalExpired)
    if not is_pending(conn, entry.event.call_id):
        raise NotPending(entry.event.call_id)


def _surface_waits(conn: Connection, entry: Entry) -> None:
    assert isinstance(entry.event, ev.SurfaceQuestionAnswered)
    if not is_pending(conn, entry.event.question_id):
        raise NotPending(entry.event.question_id)


def _was_deleted(conn: Connection, conversation_id: str) -> bool:
    found = conn.execute(
        "SELECT 1 FROM conversation_deletes WHERE conversation_id = ?", (conversation_id,)
    )
    return found.fetchone() is not None


_RULES: Final[dict[type, Callable[[Connection, Entry], None]]] = {
    ev.ConversationCreated: _is_new,
    ev.ApprovalResolved: _call_waits,
    ev.ApprovalExpired: _call_waits,
    ev.SurfaceQuestionAnswered: _surface_waits,
}
