"""Methods that read conversations: their list, their history, and following one."""

from __future__ import annotations

from functools import partial

from efr.agent.place import derive
from efr.daemon import log_reads
from efr.daemon.processes import start_us
from efr.daemon.recent import Asker, Machine, recent
from efr.daemon.rooms import Rooms
from efr.daemon.subscriptions import Subscription
from efr.store.queries import ConversationRow
from efr.threads.requests import Call
from efr.wire import methods as m
from efr.wire import types as t


def conversations_list(
    rooms: Rooms, params: m.ConversationsListParams, call: Call
) -> m.ConversationsListResult:
    """A page of conversations, the newest first."""
    return rooms.readers.read(lambda conn: log_reads.conversations(params, conn))


def conversations_recent(
    rooms: Rooms, params: m.ConversationsRecentParams, call: Call
) -> m.ConversationsRecentResult:
    """The conversations to choose from, those of the asker's scope first."""
    place = None
    if params.pwd is not None:
        place = derive(params.pwd, rooms.facts.home, rooms.projects)
    asker = Asker(params.tty, params.pwd, place, params.limit)
    machine = Machine(rooms.projects.all(), partial(_is_held, rooms))
    return rooms.readers.read(partial(recent, asker, machine))


def _is_held(rooms: Rooms, row: ConversationRow) -> bool:
    """Whether an open terminal has it: its shell is the process it was, or it follows."""
    if row.tty is not None and rooms.agent.followers.follows(row.id, row.tty):
        return True
    started_us = start_us(row.shell_pid) if row.shell_pid is not None else None
    return started_us is not None and started_us <= row.updated_at


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
