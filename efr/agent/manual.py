"""`conversation.compact`: the user compacts a conversation between its turns.

The conversation's worker does it, so a prompt that comes meanwhile waits in the queue; who asked
waits for the answer on a thread of their own and may leave without stopping it. It always writes a
summary, and starts no turn.
"""

from __future__ import annotations

import logging
from threading import Event
from typing import Any

from msgspec import Struct

from efr.agent.accounting import Account
from efr.agent.compaction import Compactor, NothingToCompact, Want, share_of
from efr.agent.context import Context
from efr.agent.drafts import Channel
from efr.agent.frame import Frame, frame_of
from efr.agent.fresh import Fresh, fresh_block
from efr.agent.history import History, base_tokens, context_of, read_history
from efr.agent.ports import NoModelsYet
from efr.agent.queue import Compaction
from efr.agent.services import Services
from efr.agent.settings import Resolved
from efr.agent.summary import SummaryFailed
from efr.base.cancel import Cancel, Cancelled
from efr.providers.errors import ProviderError
from efr.providers.failures import error_body
from efr.store import queries
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse

log = logging.getLogger("efr.agent")


class Prepared(Struct, frozen=True):
    """A conversation as its next request would be, with the settings of its newest turn."""

    frame: Frame
    history: History
    context: Context
    tokens: int  # of that request, as far as they are known


def prepare(services: Services, conversation_id: str, model: str | None = None) -> Prepared:
    """Reads it. `model` counts for another one. Raises Refusal, StoreError."""
    history = services.ports.readers.read(lambda conn: _read(conn, conversation_id))
    resolved = settings_of(services, history, model)
    ports = services.ports
    frame = frame_of(conversation_id, resolved, ports.settings(), ports.tools.definitions())
    context = context_of(history, frame)
    account = Account(frame.limits, base_tokens(history, resolved.model.id))
    tokens = account.before_call(frame.request(context.messages()))
    return Prepared(frame, history, context, tokens)


def settings_of(services: Services, history: History, model: str | None) -> Resolved:
    """The settings of the newest turn; those of the config when they do not fit any more."""
    if services.ports.models.needs_list(model):
        raise NoModelsYet
    newest = history.newest
    if model is not None:
        return services.resolve(t.TurnSettings(model=model), remote=False)
    if newest is not None and newest.model is not None:
        asked = t.TurnSettings(model=newest.model, effort=newest.effort)
        if services.fits(asked, remote=False):
            return services.resolve(asked, remote=False)
    return services.resolve(t.TurnSettings(), remote=False)


def _read(conn: Any, conversation_id: str) -> History:
    if queries.conversation(conn, conversation_id) is None:
        raise refuse(t.ErrorCode.NOT_FOUND, "there is no such conversation")
    return read_history(conn, conversation_id, running=True)


def await_answer(asked: Compaction, cancel: Cancel) -> m.ConversationCompactResult:
    """Blocks until the compaction ended. Raises Cancelled when the caller leaves before; what it
    ended with otherwise."""
    done = Event()
    asked.reply.add_done_callback(lambda _: done.set())
    forget = cancel.on_cancel(done.set)
    done.wait()
    forget()
    if not asked.reply.done():
        raise Cancelled
    return asked.reply.result()


def compact_now(
    services: Services, conversation_id: str, asked: Compaction
) -> ev.ConversationCompacted:
    """The compaction, not recorded yet. On the conversation's worker; raises Refusal, Cancelled,
    StoreError."""
    prepared = prepare(services, conversation_id)
    newest = prepared.history.newest
    if newest is None or not prepared.context.pieces:
        raise _nothing()
    channel = services.drafts.begin(conversation_id, newest.turn_id, newest.end)
    channel.compacting(t.CompactionTrigger.MANUAL)
    try:
        return _compact(services, prepared, newest.cwd, asked)
    finally:
        _end(channel)


def _end(channel: Channel) -> None:
    channel.compacted()
    channel.end()


def _compact(
    services: Services, prepared: Prepared, user_dir: str, asked: Compaction
) -> ev.ConversationCompacted:
    ports, frame = services.ports, prepared.frame
    project = ports.places.of(user_dir).project
    where = Fresh(frame.conversation_id, user_dir, project, frame.limits.window)
    compactor = Compactor(
        frame,
        prepared.context,
        prepared.history.stopped,
        lambda cancel: fresh_block(where, ports.places, ports.shells, cancel),
        ports.ids.new,
    )
    share = share_of(frame.request(prepared.context.messages()), prepared.tokens)
    want = Want(t.CompactionTrigger.MANUAL, prepared.tokens, focus=asked.focus, share=share)
    try:
        return compactor.run(want, asked.cancel).event
    except NothingToCompact:
        raise _nothing() from None
    except SummaryFailed as exc:
        raise refuse(t.ErrorCode.INTERNAL, f"the model gave no summary: {exc}") from exc
    except ProviderError as exc:
        asked.cancel.raise_if_cancelled()
        raise Refusal(error_body(exc, frame.resolved.provider.id)) from exc


def _nothing() -> Refusal:
    return refuse(t.ErrorCode.CONFLICT, "nothing lies before the newest turns")


def result_of(event: ev.ConversationCompacted) -> m.ConversationCompactResult:
    """The answer, with its number counted from 0."""
    members = {name: getattr(event, name) for name in t.Compaction.__struct_fields__}
    return m.ConversationCompactResult(seq=0, compaction=t.Compaction(**members))
