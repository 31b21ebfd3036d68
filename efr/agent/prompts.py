"""A new prompt: checked, sent to its conversation, recorded with its receipt, queued.

Handler threads; blocks on the store. What a conversation does with it afterwards is its worker's.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from efr.agent.conversation import Conversation
from efr.agent.forms import PROMPT_SEND
from efr.agent.ports import Caller
from efr.agent.queue import Prompt
from efr.agent.requests import check_room, queued_event, user_lines
from efr.agent.routing import Routed
from efr.agent.services import Services
from efr.agent.sizes import check_context, check_text
from efr.agent.slots import PickUp
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse


class Sending(Struct, frozen=True):
    """One `prompt.send` while it is worked on."""

    params: m.PromptSendParams
    caller: Caller
    effective: t.EffectiveSettings

    @property
    def pwd(self) -> str | None:
        return self.params.context.pwd if self.params.context is not None else None

    @property
    def tty(self) -> str | None:
        return self.params.context.tty if self.params.context is not None else None


def check(params: m.PromptSendParams, caller: Caller) -> None:
    """Raises `invalid` for what no settings and no state could make right."""
    check_text(params.text, "the prompt")
    check_context(params.context)
    if params.new_conversation and params.conversation_id is not None:
        raise refuse(t.ErrorCode.INVALID, "a new conversation has no id yet")
    if caller.remote and params.context is not None and params.context.tty is not None:
        raise refuse(t.ErrorCode.INVALID, "a remote device has no terminal here")


def created(services: Services, sending: Sending) -> ev.ConversationCreated:
    """The first event of a conversation without a slot."""
    ports = services.ports
    route = None
    if sending.pwd is not None:
        route = ports.places.of(sending.pwd).route
    return ev.ConversationCreated(origin=sending.caller.origin, route=route)


def head_of(routed: Routed, caller: Caller) -> list[ev.Event]:
    """What a routed prompt records before itself."""
    route = routed.place.route
    if isinstance(routed.choice, PickUp):
        return [
            ev.TerminalAttached(
                tty=routed.tty,
                route=route,
                shell_pid=routed.shell_pid,
                how=t.AttachHow.PICKED_UP,
            )
        ]
    return [ev.ConversationCreated(origin=caller.origin, tty=routed.tty, route=route)]


def queue(
    conversation: Conversation,
    sending: Sending,
    head: Sequence[ev.Event] = (),
    told: t.PromptRoute | None = None,
    shell_dir: str | None = None,
) -> m.PromptSendResult:
    """Records the prompt behind `head` in one batch and wakes the worker. Raises `busy`."""
    params, caller, services = sending.params, sending.caller, conversation.services
    prompt = Prompt(
        turn_id=services.ports.ids.new(),
        command_id=params.command_id,
        text=params.text,
        origin=caller.origin,
        remote=caller.remote,
        context=params.context,
        settings=params.settings,
        lines=user_lines(params),
        shell_dir=shell_dir,
    )
    services.followers.prompted(caller.connection_id, conversation.id, sending.tty)
    with conversation.gate.enter():
        conversation.check_open()
        _, waiting = conversation.state.snapshot()
        queued = not conversation.state.idle
        if queued:
            check_room(conversation, waiting)
        result = m.PromptSendResult(
            conversation_id=conversation.id,
            turn_id=prompt.turn_id,
            seq=0,
            queued=queued,
            settings=sending.effective,
            route=told,
        )
        receipt = PROMPT_SEND.receipt(params.command_id, result, seq_of=len(head))
        done = conversation.append([*head, queued_event(prompt)], receipt)
        conversation.add(prompt)
    return PROMPT_SEND.numbered(result, done.receipt_seq or 0)
