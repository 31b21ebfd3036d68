"""Methods that read conversations: their list, their history, and following one."""

from __future__ import annotations

from functools import partial

from efr.agent.ports import NoModelsYet
from efr.daemon import log_reads
from efr.daemon.recent import Asker, Machine, recent
from efr.daemon.rooms import Rooms, caller_of
from efr.daemon.subscriptions import Subscription
from efr.daemon.watches import Watch
from efr.threads.requests import Call, Later
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
    places = rooms.projects.places
    place = places.of(params.pwd) if params.pwd is not None else None
    asker = Asker(params.tty, params.pwd, place, params.limit)
    machine = Machine(places.projects.all(), rooms.agent.is_held)
    return rooms.readers.read(partial(recent, asker, machine))


def conversation_resume(
    rooms: Rooms, params: m.ConversationResumeParams, call: Call
) -> m.ConversationResumeResult:
    """Makes an older conversation that of a slot of the caller's terminal."""
    return rooms.agent.conversation_resume(params, caller_of(call.peer))


def conversation_compact(rooms: Rooms, params: m.ConversationCompactParams, call: Call) -> Later:
    """Compacts a conversation. Who asked may leave; the compaction goes on."""

    def compact() -> m.ConversationCompactResult | Later:
        try:
            return rooms.agent.conversation_compact(params, call.cancel)
        except NoModelsYet:
            again = partial(conversation_compact, rooms, params, call)
            return rooms.waits.for_models(call, again)

    return rooms.waits.errand(call, compact)


def conversation_context(
    rooms: Rooms, params: m.ConversationContextParams, call: Call
) -> m.ConversationContextResult | Later:
    """What fills the context; later, when it needs a list of models that is not there yet."""
    try:
        return rooms.agent.conversation_context(params)
    except NoModelsYet:
        return rooms.waits.for_models(call, partial(conversation_context, rooms, params, call))


def conversations_watch(rooms: Rooms, params: m.ConversationsWatchParams, call: Call) -> Watch:
    """The recent list as it goes on."""
    return rooms.watches.open(params)


def conversation_history(
    rooms: Rooms, params: m.ConversationHistoryParams, call: Call
) -> m.ConversationHistoryResult:
    """A page of a conversation's events, oldest first."""
    return rooms.readers.read(lambda conn: log_reads.history(params, conn))


def conversation_diff(rooms: Rooms, params: m.ConversationDiffParams, call: Call) -> Later:
    """What a turn changed in files. Waits for git."""
    tty = None if call.peer.remote else call.peer.tty
    return rooms.waits.errand(call, partial(rooms.diffs.diff, params, tty))


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
