"""Methods that change a conversation or answer its questions. The agent does all of it."""

from __future__ import annotations

from functools import partial

from efr.agent.ports import NoModelsYet
from efr.daemon.rooms import Rooms, caller_of
from efr.threads.requests import Call, Later
from efr.wire import methods as m


def prompt_send(rooms: Rooms, params: m.PromptSendParams, call: Call) -> m.PromptSendResult | Later:
    """Queues a prompt; later, when it needs a list of models that is not there yet."""
    try:
        return rooms.agent.prompt_send(params, caller_of(call.peer))
    except NoModelsYet:
        return rooms.waits.for_models(call, partial(prompt_send, rooms, params, call))


def prompt_withdraw(
    rooms: Rooms, params: m.PromptWithdrawParams, call: Call
) -> m.PromptWithdrawResult:
    """Takes a waiting prompt back."""
    return rooms.agent.prompt_withdraw(params, caller_of(call.peer))


def turn_interrupt(
    rooms: Rooms, params: m.TurnInterruptParams, call: Call
) -> m.TurnInterruptResult:
    """Stops the running turn."""
    return rooms.agent.turn_interrupt(params, caller_of(call.peer))


def turn_steer(rooms: Rooms, params: m.TurnSteerParams, call: Call) -> m.TurnSteerResult:
    """A text for the running turn."""
    return rooms.agent.turn_steer(params, caller_of(call.peer))


def approval_respond(
    rooms: Rooms, params: m.ApprovalRespondParams, call: Call
) -> m.ApprovalRespondResult:
    """Answers a question."""
    return rooms.agent.approval_respond(params, caller_of(call.peer))


def input_respond(rooms: Rooms, params: m.InputRespondParams, call: Call) -> m.InputRespondResult:
    """Types a line into a command that waits."""
    rooms.agent.input_respond(params, caller_of(call.peer))
    return m.InputRespondResult()


def presence_set(rooms: Rooms, params: m.PresenceSetParams, call: Call) -> m.PresenceSetResult:
    """The user says whether they are there."""
    return rooms.agent.presence_set(params, caller_of(call.peer))


def lease_report(rooms: Rooms, params: m.LeaseReportParams, call: Call) -> m.LeaseReportResult:
    """A terminal says what it shows; a hidden one shows nothing."""
    caller = caller_of(call.peer)
    ttl = rooms.agent.followers.report_lease(
        caller.connection_id,
        caller.tty,
        params.conversations if params.visible else (),
        params.ptys if params.visible else (),
    )
    return m.LeaseReportResult(ttl_secs=ttl)
