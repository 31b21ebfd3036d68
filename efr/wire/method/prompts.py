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
    """A prompt."""

    command_id: CommandId
    conversation_id: ConversationId | None = None
    new_conversation: bool = False
    text: str
    context: ShellContext | None = None
    last_command: str | None = None  # for the preamble only; never recorded
    settings: TurnSettings = TurnSettings()
    recent_commands: tuple[RecentCommand, ...] = ()  # oldest first; for the preamble only


class PromptSendResult(Wire, frozen=True):
    """Where the prompt went."""

    conversation_id: ConversationId
    turn_id: TurnId  # the turn that will answer
    seq: Seq  # of prompt_queued
    queued: bool  # another turn runs, so it waits
    settings: EffectiveSettings | None = None
    route: PromptRoute | None = None


class PromptWithdrawParams(Params, frozen=True):
    """Take a waiting prompt back."""

    command_id: CommandId
    conversation_id: ConversationId
    target: WithdrawTarget


class PromptWithdrawResult(Wire, frozen=True):
    """What was taken back."""

    withdrawn: WithdrawnPrompt


class TurnInterruptParams(Params, frozen=True):
    """Stop the running turn, and sort out what waits behind it in the same step."""

    command_id: CommandId
    conversation_id: ConversationId
    turn_id: TurnId | None = None
    resend_steers: tuple[Seq, ...] = ()
    resend_as: LateSteer | None = None
    withdraw_steers: tuple[Seq, ...] = ()
    withdraw: tuple[TurnId, ...] = ()


class TurnInterruptResult(Wire, frozen=True):
    """What the interrupt did."""

    turn_id: TurnId
    seq: Seq  # of turn_interrupt_requested
    resent: ResentSteers | None = None
    withdrawn: tuple[WithdrawnPrompt, ...] = ()
    withdrawn_steers: tuple[WithdrawnSteer, ...] = ()


class TurnSteerParams(Params, frozen=True, kw_only=True):
    """A text for the running turn."""

    command_id: CommandId
    conversation_id: ConversationId
    turn_id: TurnId | None = None
    text: str
    if_late: LateSteer | None = None  # absent: a late steer is a conflict


class TurnSteerResult(Wire, frozen=True):
    """Where the steer went."""

    turn_id: TurnId  # the running turn, or the new one when queued
    seq: Seq
    queued: bool = False
