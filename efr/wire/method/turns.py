"""Methods that change a conversation or answer its questions (protocol: methods 11 to 21, 34)."""

from __future__ import annotations

from typing import TypeAlias

from efr.wire.method.base import Nothing
from efr.wire.scalars import (
    U32,
    CallId,
    CommandId,
    ConversationId,
    Params,
    Path,
    QuestionId,
    Secret,
    Seq,
    Tagged,
    Time,
    TurnId,
    UndoId,
    Wire,
)
from efr.wire.shared.files import UndoEntry, UndoRef, UndoTurn
from efr.wire.shared.judging import ApprovalDecision, Presence
from efr.wire.shared.prompts import (
    LateSteer,
    ResentSteers,
    WithdrawnPrompt,
    WithdrawnSteer,
    WithdrawTarget,
)
from efr.wire.shared.scopes import Place, PromptRoute
from efr.wire.shared.settings import EffectiveSettings, TurnSettings
from efr.wire.shared.shells import RecentCommand, ShellContext
from efr.wire.shared.tokens import Compaction


class ConversationCompactParams(Params, frozen=True):
    """Compact a conversation now."""

    command_id: CommandId
    conversation_id: ConversationId
    focus: str | None = None  # what the summary must keep


class ConversationCompactResult(Wire, frozen=True):
    """The compaction as recorded."""

    seq: Seq  # of conversation_compacted
    compaction: Compaction


class ConversationResumeParams(Params, frozen=True):
    """Make a conversation that of a terminal."""

    command_id: CommandId
    conversation_id: ConversationId
    context: ShellContext  # of the terminal that resumes
    take: bool = False  # even when another open terminal holds it


class ConversationResumed(Tagged, frozen=True, kw_only=True, tag="resumed"):
    """The terminal holds it."""

    conversation_id: ConversationId
    scope: Place
    title: str | None = None
    updated_at: Time
    shell_dir: Path | None = None
    here: bool = False  # the terminal held it already
    continues_here: bool = False  # a prompt from the terminal's directory continues it


class ConversationResumeHeld(Tagged, frozen=True, tag="held"):
    """Another terminal holds it; nothing moved."""

    tty: str
    title: str | None = None


class ConversationResumeUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


ConversationResumeResult: TypeAlias = (
    ConversationResumed | ConversationResumeHeld | ConversationResumeUnknown
)


class ConversationDeleteParams(Params, frozen=True):
    """Delete a conversation."""

    command_id: CommandId
    conversation_id: ConversationId
    force: bool = False  # also when another open terminal holds it
    stop: bool = False  # stop what runs first


class ConversationDeleted(Tagged, frozen=True, tag="deleted"):
    """It is gone."""

    conversation_id: ConversationId
    title: str | None = None
    jobs_stopped: U32 = 0
    not_removed: tuple[Path, ...] = ()


class ConversationDeleteHeld(Tagged, frozen=True, tag="held"):
    """Another terminal holds it; nothing happened."""

    tty: str
    title: str | None = None


class ConversationDeleteUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


ConversationDeleteResult: TypeAlias = (
    ConversationDeleted | ConversationDeleteHeld | ConversationDeleteUnknown
)


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


class TurnUndoParams(Params, frozen=True):
    """Take a turn's changes back."""

    command_id: CommandId
    conversation_id: ConversationId | None = None
    turn_id: TurnId | None = None  # absent: the newest that can be undone
    dry_run: bool = False
    force: bool = False
    redo: bool = False
    list: bool = False


class TurnUndoResult(Wire, frozen=True):
    """What the undo did, or would do."""

    conversation_id: ConversationId
    turn_id: TurnId | None = None
    title: str | None = None
    undo_id: UndoId | None = None
    trash: Path | None = None  # where removed files went
    applied: bool = False
    stopped: bool = False  # a write failed after files were changed
    resumed: bool = False  # it finished an earlier stopped undo
    entries: tuple[UndoEntry, ...] = ()
    entries_more: U32 = 0
    refs: tuple[UndoRef, ...] = ()
    notes: tuple[str, ...] = ()
    turns: tuple[UndoTurn, ...] = ()


class ApprovalRespondParams(Params, frozen=True):
    """Answer a question."""

    command_id: CommandId
    conversation_id: ConversationId
    call_id: CallId
    decision: ApprovalDecision


class ApprovalRespondResult(Wire, frozen=True):
    """The answer stands."""

    seq: Seq  # of approval_resolved


class InputRespondParams(Params, frozen=True, kw_only=True):
    """A typed line for a command that waits."""

    conversation_id: ConversationId
    call_id: CallId
    text: Secret  # one line without its end, at most 1024 bytes
    hidden: bool
    manual: bool = False

    def __repr__(self) -> str:
        return f"InputRespondParams(call_id={self.call_id!r}, text=[redacted])"


InputRespondResult: TypeAlias = Nothing


class PresenceSetParams(Params, frozen=True, kw_only=True):
    """The user says whether they are there."""

    command_id: CommandId
    conversation_id: ConversationId | None = None
    presence: Presence


class PresenceSetResult(Wire, frozen=True):
    """Which conversations changed."""

    presence: Presence
    changed: tuple[ConversationId, ...] = ()
    seq: Seq | None = None  # of the last presence_changed


class SandboxSurfaceRespondParams(Params, frozen=True):
    """Whether changed files that run code stay."""

    command_id: CommandId
    conversation_id: ConversationId
    question_id: QuestionId
    keep: bool


class SandboxSurfaceRespondResult(Wire, frozen=True):
    """The answer stands."""

    seq: Seq  # of surface_question_answered
