"""What a client may ask of a conversation: steer, interrupt, withdraw, answer, type.

One function per method. Each decides inside the conversation's gate, appends one batch with its
receipt, and then applies it, so of two requests that contradict each other the first wins and the
second is told so. Handler threads. Raise Refusal; a fault of the store passes through.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from efr.agent.conversation import Conversation
from efr.agent.forms import (
    APPROVAL_RESPOND,
    PROMPT_WITHDRAW,
    TURN_INTERRUPT,
    TURN_STEER,
)
from efr.agent.ports import Caller
from efr.agent.preamble import UserLines
from efr.agent.queue import Compaction, Prompt, Running, Steer
from efr.agent.sizes import check_context, check_text
from efr.store import queries
from efr.store.errors import NotPending
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse


def user_lines(asked: m.PromptSendParams | t.LateSteerQueue) -> UserLines:
    """The command lines that came with a prompt; they stay in memory."""
    return UserLines(asked.last_command, asked.recent_commands)


def queued_event(prompt: Prompt) -> ev.PromptQueued:
    """The event of a prompt that waits; it holds no command line."""
    return ev.PromptQueued(
        turn_id=prompt.turn_id,
        command_id=prompt.command_id,
        text=prompt.text,
        origin=prompt.origin,
        context=prompt.context,
        settings=prompt.settings,
        steers=prompt.steers,
    )


def check_room(conversation: Conversation, waiting: int) -> None:
    """Raises `busy` when as many prompts wait as may."""
    most = conversation.services.ports.settings().conversation.max_queued
    if waiting >= most:
        raise refuse(t.ErrorCode.BUSY, f"{waiting} prompts wait in this conversation already")


# turn.steer --------------------------------------------------------------------------------


def steer(
    conversation: Conversation, params: m.TurnSteerParams, caller: Caller
) -> m.TurnSteerResult:
    """Text for the running turn; late, it becomes a prompt or a conflict."""
    check_text(params.text, "the text")
    if params.if_late is not None:
        check_context(params.if_late.context)
    with conversation.gate.enter():
        running, waiting = conversation.state.snapshot()
        late = (
            running is None
            or not running.takes_steers
            or params.turn_id not in (None, running.turn_id)
        )
        if running is None or late:
            return _late_steer(conversation, params, caller, waiting)
        check_text(params.text, "the text", [one.text for one in running.unread])
        result = m.TurnSteerResult(turn_id=running.turn_id, seq=0)
        event = ev.TurnSteered(turn_id=running.turn_id, text=params.text)
        done = conversation.append([event], TURN_STEER.receipt(params.command_id, result, seq_of=0))
        with conversation.state.lock:
            running.unread.append(Steer(done.first_seq, params.text))
    return TURN_STEER.numbered(result, done.first_seq)


def _late_steer(
    conversation: Conversation, params: m.TurnSteerParams, caller: Caller, waiting: int
) -> m.TurnSteerResult:
    """Inside the gate. Never a `turn_steered`."""
    if params.if_late is None:
        raise refuse(t.ErrorCode.CONFLICT, "no turn runs that still reads a steer")
    check_room(conversation, waiting)
    prompt = Prompt(
        turn_id=conversation.services.ports.ids.new(),
        command_id=params.command_id,
        text=params.text,
        origin=caller.origin,
        remote=caller.remote,
        context=params.if_late.context,
        settings=params.if_late.settings,
        lines=user_lines(params.if_late),
    )
    result = m.TurnSteerResult(turn_id=prompt.turn_id, seq=0, queued=True)
    done = conversation.append(
        [queued_event(prompt)], TURN_STEER.receipt(params.command_id, result, seq_of=0)
    )
    conversation.add(prompt)
    return TURN_STEER.numbered(result, done.first_seq)


# prompt.withdraw ---------------------------------------------------------------------------


def withdraw(
    conversation: Conversation, params: m.PromptWithdrawParams, caller: Caller
) -> m.PromptWithdrawResult:
    """Takes a waiting prompt back."""
    with conversation.gate.enter():
        prompt = _waiting(conversation, params.target)
        result = m.PromptWithdrawResult(
            t.WithdrawnPrompt(turn_id=prompt.turn_id, seq=0, text=prompt.text)
        )
        done = conversation.append(
            [ev.PromptWithdrawn(turn_id=prompt.turn_id, origin=caller.origin)],
            PROMPT_WITHDRAW.receipt(params.command_id, result, seq_of=0),
            is_input=False,
        )
        conversation.state.withdraw([prompt])
    return PROMPT_WITHDRAW.numbered(result, done.first_seq)


def _waiting(conversation: Conversation, target: t.WithdrawTarget) -> Prompt:
    if isinstance(target, t.WithdrawNewestFromTty):
        newest = conversation.state.newest_of(target.tty)
        if newest is None:
            raise refuse(t.ErrorCode.NOT_FOUND, "no prompt of this terminal waits")
        return newest
    found = conversation.state.waiting([target.turn_id])
    if found:
        return found[0]
    turn_id = target.turn_id
    row = conversation.services.ports.readers.read(lambda conn: queries.turn(conn, turn_id))
    if row is None or row.conversation_id != conversation.id:
        raise refuse(t.ErrorCode.NOT_FOUND, "no such prompt waits here")
    raise refuse(t.ErrorCode.CONFLICT, f"the prompt does not wait any more: it is {row.status}")


# turn.interrupt ----------------------------------------------------------------------------


class _Interrupt(Struct):
    """One interrupt while it is put together: the batch in order, and what it will change."""

    running: Running
    events: list[ev.Event] = field(default_factory=list)
    withdrawn: list[Prompt] = field(default_factory=list)
    steers_back: list[Steer] = field(default_factory=list)
    resend: list[Steer] = field(default_factory=list)
    prompt: Prompt | None = None

    def result(self) -> m.TurnInterruptResult:
        """With numbers counted from 0, the interrupt's own event."""
        resent = None
        if self.prompt is not None:
            place = len(self.events) - 1
            resent = t.ResentSteers(self.prompt.turn_id, place, self.prompt.steers)
        return m.TurnInterruptResult(
            turn_id=self.running.turn_id,
            seq=0,
            resent=resent,
            withdrawn=tuple(
                t.WithdrawnPrompt(one.turn_id, place, one.text)
                for place, one in enumerate(self.withdrawn, start=1)
            ),
            withdrawn_steers=tuple(t.WithdrawnSteer(one.seq, one.text) for one in self.steers_back),
        )


def interrupt(
    conversation: Conversation, params: m.TurnInterruptParams, caller: Caller
) -> m.TurnInterruptResult:
    """Stops the running turn; its lists are done in the step that records it."""
    if params.resend_as is not None:
        check_context(params.resend_as.context)
    with conversation.gate.enter():
        running, _ = conversation.state.snapshot()
        if running is None:
            raise refuse(t.ErrorCode.CONFLICT, "no turn runs")
        if params.turn_id not in (None, running.turn_id):
            raise refuse(t.ErrorCode.CONFLICT, "another turn runs")
        plan = _plan(conversation, running, params, caller)
        result = plan.result()
        receipt = TURN_INTERRUPT.receipt(params.command_id, result, seq_of=0)
        try:
            done = conversation.append(plan.events, receipt, is_input=False)
        except Exception:
            running.cancel.cancel()  # the user said stop: that holds even when no disk takes it
            raise
        _apply(conversation, plan)
    running.cancel.cancel()
    return TURN_INTERRUPT.numbered(result, done.first_seq)


def _plan(
    conversation: Conversation, running: Running, params: m.TurnInterruptParams, caller: Caller
) -> _Interrupt:
    plan = _Interrupt(running)
    plan.events.append(ev.TurnInterruptRequested(turn_id=running.turn_id, origin=caller.origin))
    plan.withdrawn = conversation.state.waiting(params.withdraw)
    for prompt in plan.withdrawn:
        plan.events.append(ev.PromptWithdrawn(turn_id=prompt.turn_id, origin=caller.origin))
    resend = set(params.resend_steers)
    plan.resend = [one for one in running.unread if one.seq in resend]
    back = set(params.withdraw_steers) - resend
    plan.steers_back = [one for one in running.unread if one.seq in back]
    if plan.steers_back:
        seqs = tuple(one.seq for one in plan.steers_back)
        plan.events.append(
            ev.SteeringWithdrawn(turn_id=running.turn_id, steers=seqs, origin=caller.origin)
        )
    if plan.resend:
        plan.prompt = _resent(conversation, running, plan.resend, params, caller)
        plan.events.append(queued_event(plan.prompt))
    return plan


def _resent(
    conversation: Conversation,
    running: Running,
    steers: Sequence[Steer],
    params: m.TurnInterruptParams,
    caller: Caller,
) -> Prompt:
    """The one prompt that unread steers become. Bad settings fall back to the turn's."""
    was, new = running.prompt, params.resend_as
    settings = was.settings
    if new is not None and conversation.services.fits(new.settings, remote=caller.remote):
        settings = new.settings
    return Prompt(
        turn_id=conversation.services.ports.ids.new(),
        command_id=params.command_id,
        text="\n".join(one.text for one in steers),
        origin=caller.origin,
        remote=caller.remote,
        context=was.context if new is None else new.context,
        settings=settings,
        lines=was.lines if new is None else user_lines(new),
        steers=tuple(one.seq for one in steers),
        resent=True,
    )


def _apply(conversation: Conversation, plan: _Interrupt) -> None:
    gone = {one.seq for one in (*plan.resend, *plan.steers_back)}
    with conversation.state.lock:
        plan.running.interrupted = True
        plan.running.unread = [one for one in plan.running.unread if one.seq not in gone]
    conversation.state.withdraw(plan.withdrawn)
    if plan.prompt is not None:
        conversation.add(plan.prompt)


# conversation.compact ----------------------------------------------------------------------


def begin_compaction(conversation: Conversation, params: m.ConversationCompactParams) -> Compaction:
    """The compaction of that command: the one that runs, or a new one. Raises `conflict`."""
    if params.focus is not None:
        check_text(params.focus, "the focus")
    with conversation.gate.enter():
        conversation.check_open()
        with conversation.state.lock:
            asked = conversation.state.compaction
        if asked is not None and asked.command_id == params.command_id:
            return asked
        if asked is not None:
            raise refuse(t.ErrorCode.CONFLICT, "a compaction of this conversation runs already")
        if not conversation.state.idle:
            raise refuse(
                t.ErrorCode.CONFLICT, "a turn runs in this conversation, or a prompt waits"
            )
        asked = Compaction(params.command_id, params.focus)
        conversation.begin_compaction(asked)
    return asked


# approval.respond, input.respond ------------------------------------------------------------


def answer(
    conversation: Conversation, params: m.ApprovalRespondParams, caller: Caller
) -> m.ApprovalRespondResult:
    """An answer to a question. Of two answers one commits, the other finds nothing."""
    with conversation.gate.enter():
        question = conversation.questions.find(params.call_id)
        running, _ = conversation.state.snapshot()
        if question is None or running is None:
            raise refuse(t.ErrorCode.NOT_FOUND, "no question of this call is open")
        if params.decision is t.ApprovalDecision.ALLOW_ALWAYS:
            if caller.remote:
                raise refuse(t.ErrorCode.FORBIDDEN, "a remote device may not allow for good")
            raise refuse(t.ErrorCode.INVALID, "this question offers no rule to allow for good")
        if caller.remote and question.local_only:
            raise refuse(t.ErrorCode.FORBIDDEN, "only the user's own machine may answer this")
        result = m.ApprovalRespondResult(seq=0)
        event = ev.ApprovalResolved(
            turn_id=running.turn_id,
            call_id=params.call_id,
            decision=params.decision,
            origin=caller.origin,
        )
        try:
            done = conversation.append(
                [event], APPROVAL_RESPOND.receipt(params.command_id, result, seq_of=0)
            )
        except NotPending:
            raise refuse(t.ErrorCode.NOT_FOUND, "the question is not open any more") from None
        conversation.questions.settle(params.call_id, params.decision)
    return APPROVAL_RESPOND.numbered(result, done.first_seq)
