"""Methods that read conversations: their list, their history, and following one."""

from __future__ import annotations

from efr.daemon import log_reads
from efr.daemon.rooms import Rooms
from efr.daemon.subscriptions import Subscription
from efr.threads.requests import Call
from efr.wire import methods as m
from efr.wire import types as t


def conversations_list(
    rooms: Rooms, params: m.ConversationsListParams, call: Call
) -> m.ConversationsListResult:
    """A page of conversations, the newest first."""
    return rooms.readers.read(lambda conn: log_reads.conversations(params, conn))


def conversation_history(
    rooms: Rooms, params: m.ConversationHistoryParams, call: Call
) -> m.ConversationHistoryResult:
    """A page of a conversation's events, oldest first."""
    return rooms.readers.read(lambda conn: log_reads.history(params, conn))


def conversation_subscribe(
    rooms: Rooms, params: m.ConversationSubscribeParams, call: Call
) -> Subscription:
    """The conversation as it goes on. Only a person's own terminal can answer a command."""
    answers = (
        params.answers_input
        and t.ScopeName.TERMINAL in call.peer.scopes
        and not rooms.model_side.is_model_side(call.peer)
    )
    tty = None if call.peer.remote else call.peer.tty
    return rooms.subscriptions.open(params, answers_input=answers, tty=tty)
