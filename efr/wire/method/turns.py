"""Methods of waiting prompts and running turns (protocol: methods 15 to 17)."""

from efr.wire.scalars import CommandId, ConversationId, Params, Seq, TurnId, Wire
from efr.wire.shared.prompts import (
    LateSteer,
    ResentSteers,
    WithdrawnPrompt,
    WithdrawnSteer,
    WithdrawTarget,
)


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
