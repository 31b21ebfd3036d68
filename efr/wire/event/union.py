"""Every event as one union (protocol: events)."""

from __future__ import annotations

from typing import Final, TypeAlias, get_args

from efr.wire.event.base import UnknownEvent
from efr.wire.event.calls import (
    ToolCallCompleted,
    ToolCallInputChanged,
    ToolCallOutputUpdated,
    ToolCallStarted,
)
from efr.wire.event.messages import AssistantMessageCompleted, AssistantMessageUpdated
from efr.wire.event.questions import (
    AlwaysRuleSaved,
    ApprovalExpired,
    ApprovalRequested,
    ApprovalResolved,
    CacheDeleteApplied,
    ClassifierPaused,
    ExitJudged,
    ExitRequested,
    ExitReviewStarted,
    HomeFileChanged,
    PresenceChanged,
    SandboxSurfaceChanged,
    SandboxUnavailable,
    SurfaceQuestionAnswered,
    SurfaceQuestionRequested,
    TurnSurfaceReport,
)
from efr.wire.event.shells import (
    CwdChanged,
    LoginCompleted,
    LogoutCompleted,
    ShellCommandDetached,
    ShellCommandEnded,
    ShellCommandInputChanged,
    ShellExited,
    ShellStarted,
)
from efr.wire.event.turns import (
    ConversationCreated,
    ConversationDeleted,
    PromptHeld,
    PromptQueued,
    PromptWithdrawn,
    ScopeChanged,
    SteeringDelivered,
    SteeringWithdrawn,
    TerminalAttached,
    TurnCancelled,
    TurnCompleted,
    TurnFailed,
    TurnInterrupted,
    TurnInterruptRequested,
    TurnStarted,
    TurnSteered,
)
from efr.wire.event.work import (
    ConversationCompacted,
    JobEnded,
    JobNotice,
    JobNoticeHeld,
    JobPortForwarded,
    JobStarted,
    JobWatchMatched,
    SnapshotTaken,
    UndoApplied,
)
from efr.wire.scalars import Wire

Event: TypeAlias = (
    ConversationCreated
    | ConversationDeleted
    | TerminalAttached
    | PromptQueued
    | PromptWithdrawn
    | PromptHeld
    | TurnStarted
    | ScopeChanged
    | TurnSteered
    | SteeringDelivered
    | SteeringWithdrawn
    | TurnInterruptRequested
    | TurnInterrupted
    | TurnCompleted
    | TurnFailed
    | TurnCancelled
    | AssistantMessageUpdated
    | AssistantMessageCompleted
    | ToolCallStarted
    | ToolCallOutputUpdated
    | ToolCallInputChanged
    | ToolCallCompleted
    | ApprovalRequested
    | ApprovalResolved
    | ApprovalExpired
    | AlwaysRuleSaved
    | ExitRequested
    | ExitReviewStarted
    | ExitJudged
    | ClassifierPaused
    | PresenceChanged
    | CacheDeleteApplied
    | HomeFileChanged
    | SandboxSurfaceChanged
    | SurfaceQuestionRequested
    | SurfaceQuestionAnswered
    | TurnSurfaceReport
    | SandboxUnavailable
    | ConversationCompacted
    | SnapshotTaken
    | UndoApplied
    | JobStarted
    | JobWatchMatched
    | JobEnded
    | JobNotice
    | JobNoticeHeld
    | JobPortForwarded
    | ShellStarted
    | ShellExited
    | CwdChanged
    | ShellCommandDetached
    | ShellCommandInputChanged
    | ShellCommandEnded
    | LoginCompleted
    | LogoutCompleted
    | UnknownEvent
)

# The kinds in the protocol's order.
EVENTS: Final[dict[str, type[Wire]]] = {
    str(kind.__struct_config__.tag): kind for kind in get_args(Event) if kind is not UnknownEvent
}
