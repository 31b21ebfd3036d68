"""Every event of the protocol under one name (`from efr.wire import events as ev`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from efr.wire.lazy import home_of_names

if TYPE_CHECKING:
    from efr.wire.event.base import *  # noqa: F403
    from efr.wire.event.calls import *  # noqa: F403
    from efr.wire.event.envelope import *  # noqa: F403
    from efr.wire.event.log import *  # noqa: F403
    from efr.wire.event.messages import *  # noqa: F403
    from efr.wire.event.questions import *  # noqa: F403
    from efr.wire.event.shells import *  # noqa: F403
    from efr.wire.event.turns import *  # noqa: F403
    from efr.wire.event.union import *  # noqa: F403
    from efr.wire.event.work import *  # noqa: F403

HOMES = {
    "efr.wire.event.base": ("UnknownEvent",),
    "efr.wire.event.calls": (
        "ToolCallCompleted",
        "ToolCallInputChanged",
        "ToolCallOutputUpdated",
        "ToolCallStarted",
    ),
    "efr.wire.event.envelope": ("EventEnvelope",),
    "efr.wire.event.log": (
        "decode_event",
        "encode_event",
        "envelope_bytes",
        "event_item_bytes",
        "kind_of",
        "turn_of",
    ),
    "efr.wire.event.messages": (
        "AssistantMessageCompleted",
        "AssistantMessageUpdated",
    ),
    "efr.wire.event.questions": (
        "AlwaysRuleSaved",
        "ApprovalExpired",
        "ApprovalRequested",
        "ApprovalResolved",
        "CacheDeleteApplied",
        "ClassifierPaused",
        "ExitJudged",
        "ExitRequested",
        "ExitReviewStarted",
        "HomeFileChanged",
        "PresenceChanged",
        "SandboxSurfaceChanged",
        "SandboxUnavailable",
        "SurfaceQuestionAnswered",
        "SurfaceQuestionRequested",
        "TurnSurfaceReport",
    ),
    "efr.wire.event.shells": (
        "CwdChanged",
        "LoginCompleted",
        "LogoutCompleted",
        "ShellCommandDetached",
        "ShellCommandEnded",
        "ShellCommandInputChanged",
        "ShellExited",
        "ShellStarted",
    ),
    "efr.wire.event.turns": (
        "ConversationCreated",
        "ConversationDeleted",
        "PromptHeld",
        "PromptQueued",
        "PromptWithdrawn",
        "ScopeChanged",
        "SteeringDelivered",
        "SteeringWithdrawn",
        "TerminalAttached",
        "TurnCancelled",
        "TurnCompleted",
        "TurnFailed",
        "TurnInterruptRequested",
        "TurnInterrupted",
        "TurnStarted",
        "TurnSteered",
    ),
    "efr.wire.event.union": (
        "EVENTS",
        "Event",
    ),
    "efr.wire.event.work": (
        "ConversationCompacted",
        "JobEnded",
        "JobNotice",
        "JobNoticeHeld",
        "JobPortForwarded",
        "JobStarted",
        "JobWatchMatched",
        "SnapshotTaken",
        "UndoApplied",
    ),
}
__getattr__ = home_of_names(globals(), HOMES)
