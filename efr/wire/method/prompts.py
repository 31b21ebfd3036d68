"""Methods of prompts and running turns (protocol: methods 14 to 17)."""

from __future__ import annotations

from efr.wire.scalars import (
    CommandId,
    ConversationId,
    Params,
    Seq,
    TurnId,
    Wire,
)
from efr.wire.shared.prompts import (
    LateSteer,
    ResentSteers,
    WithdrawnPrompt,
    WithdrawnSteer,
    WithdrawTarget,
)
from efr.wire.shared.scopes import PromptRoute
from efr.wire.shared.settings import EffectiveSettings, TurnSettings
from efr.wire.shared.shells import RecentCommand, ShellContext


class PromptSendParams(Params, frozen=True, kw_only=True):
    """Send a prompt; its answer comes as events of the conversation."""

    command_id: CommandId
    conversation_id: ConversationId | None = None  # absent: the daemon finds it from the terminal
    new_conversation: bool = False  # start a new one; not together with `conversation_id`
    text: str
    context: ShellContext | None = None  # the shell that the prompt was typed in
    last_command: str | None = None  # for the preamble only; never recorded
    settings: TurnSettings = TurnSettings()  # absent members: those of the config
    recent_commands: tuple[RecentCommand, ...] = ()  # oldest first; for the preamble only


class PromptSendResult(Wire, frozen=True):
    """Where the prompt went."""

    conversation_id: ConversationId
    turn_id: TurnId  # the turn that will answer
    seq: Seq  # of prompt_queued
    queued: bool  # another turn runs, so it waits
    settings: EffectiveSettings | None = None  # what it would run with now; always there today
    route: PromptRoute | None = None  # only for a prompt with a terminal and without a conversation


class PromptWithdrawParams(Params, frozen=True):
    """Take back a prompt that waits."""

    command_id: CommandId
    conversation_id: ConversationId
    target: WithdrawTarget


class PromptWithdrawResult(Wire, frozen=True):
    """The prompt that was taken back."""

    withdrawn: WithdrawnPrompt


class TurnInterruptParams(Params, frozen=True):
    """Stop the running turn, and sort out what waits behind it in the same step."""

    command_id: CommandId
    conversation_id: ConversationId
    turn_id: TurnId | None = None  # when it is not the running one: `conflict`
    resend_steers: tuple[Seq, ...] = ()  # unread steers to send again as one prompt that runs next
    resend_as: LateSteer | None = None  # of that prompt; absent: as the interrupted turn's prompt
    withdraw_steers: tuple[Seq, ...] = ()  # unread steers to take back
    withdraw: tuple[TurnId, ...] = ()  # turns of waiting prompts to take back


class TurnInterruptResult(Wire, frozen=True):
    """What the interrupt did."""

    turn_id: TurnId
    seq: Seq  # of turn_interrupt_requested
    resent: ResentSteers | None = None
    withdrawn: tuple[WithdrawnPrompt, ...] = ()  # in queue order
    withdrawn_steers: tuple[WithdrawnSteer, ...] = ()  # in the order of their numbers


class TurnSteerParams(Params, frozen=True, kw_only=True):
    """Give the running turn a text that its next model call reads."""

    command_id: CommandId
    conversation_id: ConversationId
    turn_id: TurnId | None = None  # the turn it is meant for
    text: str
    if_late: LateSteer | None = None  # absent: a late steer is a conflict


class TurnSteerResult(Wire, frozen=True):
    """Where the steer went."""

    turn_id: TurnId  # the running turn, or the new one when queued
    seq: Seq  # of turn_steered, or of prompt_queued when queued
    queued: bool = False  # it came late and became a prompt
