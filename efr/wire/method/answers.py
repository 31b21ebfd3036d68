"""Methods that answer questions and say who is there (protocol: methods 19 to 21, 34)."""

from typing import TypeAlias

from efr.wire.method.base import Nothing
from efr.wire.scalars import (
    CallId,
    CommandId,
    ConversationId,
    Params,
    QuestionId,
    Secret,
    Seq,
    Wire,
)
from efr.wire.shared.judging import ApprovalDecision, Presence


class ApprovalRespondParams(Params, frozen=True):
    """Answer the question of a call."""

    command_id: CommandId
    conversation_id: ConversationId
    call_id: CallId
    decision: ApprovalDecision


class ApprovalRespondResult(Wire, frozen=True):
    """The answer stands."""

    seq: Seq  # of approval_resolved


class InputRespondParams(Params, frozen=True, kw_only=True):
    """Type a line for a command that waits for input."""

    conversation_id: ConversationId
    call_id: CallId
    text: Secret  # one line without its end, at most 1024 bytes
    hidden: bool  # true answers a hidden wait, false a visible one
    manual: bool = False  # the user chose to type; no reported wait is needed

    def __repr__(self) -> str:
        return f"InputRespondParams(call_id={self.call_id!r}, text=[redacted])"


InputRespondResult: TypeAlias = Nothing


class PresenceSetParams(Params, frozen=True, kw_only=True):
    """Say whether the user is there."""

    command_id: CommandId
    # absent: each one that had input since the daemon started
    conversation_id: ConversationId | None = None
    presence: Presence


class PresenceSetResult(Wire, frozen=True):
    """Which conversations changed."""

    presence: Presence
    changed: tuple[ConversationId, ...] = ()
    seq: Seq | None = None  # of the last presence_changed; absent when none changed


class SandboxSurfaceRespondParams(Params, frozen=True):
    """Say whether changed files that run code stay."""

    command_id: CommandId
    conversation_id: ConversationId
    question_id: QuestionId
    keep: bool


class SandboxSurfaceRespondResult(Wire, frozen=True):
    """The answer stands."""

    seq: Seq  # of surface_question_answered
