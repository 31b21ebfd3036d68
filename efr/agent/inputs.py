"""What a person types or says about themselves: keys for a running command, and presence.

Handler threads. Typed text goes to the hidden shell and nowhere else: no event, log or error
holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from efr.agent.conversation import Conversation
from efr.agent.forms import PRESENCE_SET
from efr.agent.ports import Caller
from efr.agent.services import Services
from efr.shell.errors import BadAnswer, NoSuchCall, NotWaiting
from efr.store.batch import Batch, NewEvent
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse


def input_respond(conversation: Conversation, params: m.InputRespondParams, caller: Caller) -> None:
    """Types one line into the command of a running call. No receipt: it is never retried. It is
    input too (`note_input`)."""
    if caller.remote:
        raise refuse(t.ErrorCode.FORBIDDEN, "a remote device never types into a command")
    running, _ = conversation.state.snapshot()
    shell = conversation.services.ports.shells.peek(conversation.id)
    call_id = running.call_id if running is not None else None
    if call_id is None or shell is None:
        raise refuse(t.ErrorCode.NOT_FOUND, "no command of a call runs")
    if call_id != params.call_id:
        raise refuse(t.ErrorCode.CONFLICT, "the command of another call runs")
    try:
        shell.answer(params.call_id, params.text, hidden=params.hidden, manual=params.manual)
    except NoSuchCall:
        raise refuse(t.ErrorCode.NOT_FOUND, "no command of this call runs") from None
    except NotWaiting as exc:
        raise refuse(t.ErrorCode.CONFLICT, exc.why) from None
    except BadAnswer as exc:
        raise refuse(t.ErrorCode.INVALID, exc.why) from None


def note_input(conversation: Conversation) -> None:
    """Keys for the hidden shell are input: who was away is back."""
    with conversation.gate.enter(always=True):
        if conversation.presence.away:
            conversation.append([], None)
        else:  # nothing to record: a key costs no commit
            conversation.presence.input()


def presence_set(
    services: Services, conversations: Sequence[Conversation], params: m.PresenceSetParams
) -> m.PresenceSetResult:
    """The user's word for these conversations; only changes are recorded, all in one batch."""
    if params.presence is t.Presence.UNKNOWN:
        raise refuse(t.ErrorCode.INVALID, "presence is present or away")
    away = params.presence is t.Presence.AWAY
    with ExitStack() as gates:
        for one in sorted(conversations, key=lambda one: one.id):
            gates.enter_context(one.gate.enter())
        changed = [one for one in conversations if one.presence.away != away]
        events = tuple(NewEvent(one.id, one.away_event(params.presence)) for one in changed)
        result = m.PresenceSetResult(
            presence=params.presence,
            changed=tuple(one.id for one in changed),
            seq=0 if changed else None,
        )
        receipt = PRESENCE_SET.receipt(params.command_id, result, seq_of=-1)
        done = services.commits.append(Batch(events=events, receipt=receipt))
        for one in changed:
            one.now_away(away)
    return PRESENCE_SET.numbered(result, done.receipt_seq or 0)
