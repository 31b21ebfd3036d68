"""Every shared type of the protocol under one name (`from efr.wire import types as t`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from efr.wire.lazy import home_of_names

if TYPE_CHECKING:
    from efr.wire.errors import *  # noqa: F403
    from efr.wire.scalars import *  # noqa: F403
    from efr.wire.shared.compaction import *  # noqa: F403
    from efr.wire.shared.connection import *  # noqa: F403
    from efr.wire.shared.conversations import *  # noqa: F403
    from efr.wire.shared.devices import *  # noqa: F403
    from efr.wire.shared.drafts import *  # noqa: F403
    from efr.wire.shared.ends import *  # noqa: F403
    from efr.wire.shared.exits import *  # noqa: F403
    from efr.wire.shared.files import *  # noqa: F403
    from efr.wire.shared.grants import *  # noqa: F403
    from efr.wire.shared.jobs import *  # noqa: F403
    from efr.wire.shared.judging import *  # noqa: F403
    from efr.wire.shared.places import *  # noqa: F403
    from efr.wire.shared.prompts import *  # noqa: F403
    from efr.wire.shared.sandbox import *  # noqa: F403
    from efr.wire.shared.scopes import *  # noqa: F403
    from efr.wire.shared.screen import *  # noqa: F403
    from efr.wire.shared.search import *  # noqa: F403
    from efr.wire.shared.settings import *  # noqa: F403
    from efr.wire.shared.shells import *  # noqa: F403
    from efr.wire.shared.status import *  # noqa: F403
    from efr.wire.shared.tokens import *  # noqa: F403
    from efr.wire.shared.undo import *  # noqa: F403
    from efr.wire.times import *  # noqa: F403

HOMES = {
    "efr.wire.errors": (
        "ErrorBody",
        "ErrorCode",
    ),
    "efr.wire.scalars": (
        "Bytes",
        "CallId",
        "CommandId",
        "CompactionId",
        "ConversationId",
        "Cursor",
        "DaemonId",
        "DeviceId",
        "I32",
        "JobId",
        "PROTOCOL_VERSION",
        "PairingId",
        "Path",
        "ProjectId",
        "PtyId",
        "QuestionId",
        "Secret",
        "Seq",
        "Time",
        "TurnId",
        "U16",
        "U32",
        "U64",
        "U8",
        "UndoId",
    ),
    "efr.wire.shared.compaction": (
        "Compaction",
        "ContextCache",
        "ContextCompaction",
        "ContextCount",
        "ContextEstimate",
        "ContextItem",
        "ContextLimits",
        "ContextPart",
        "ContextPartKind",
    ),
    "efr.wire.shared.connection": (
        "Capabilities",
        "DaemonPaths",
        "Origin",
        "ProveFacts",
        "ScopeName",
    ),
    "efr.wire.shared.conversations": (
        "ConversationStatus",
        "ConversationSummary",
        "RecentRow",
    ),
    "efr.wire.shared.devices": (
        "DeviceInfo",
        "PairEnd",
        "QrPayload",
    ),
    "efr.wire.shared.drafts": (
        "Draft",
        "DraftCompacting",
        "DraftContext",
        "DraftPart",
        "DraftReasoning",
        "DraftText",
        "DraftToolInput",
        "Live",
    ),
    "efr.wire.shared.ends": (
        "StopInfo",
        "StopReason",
        "UndoRoot",
        "UndoSummary",
    ),
    "efr.wire.shared.exits": (
        "ActionFacts",
        "ExitFacts",
        "ExitInfo",
        "ExitRecord",
        "GitCode",
        "GitCounts",
        "GitItem",
        "HostFact",
        "Needs",
        "PathClass",
        "PreviousExit",
        "ProgramFact",
        "TargetFact",
    ),
    "efr.wire.shared.files": (
        "ChangeKind",
        "FileChange",
        "FileChanges",
    ),
    "efr.wire.shared.grants": (
        "BusKind",
        "DesktopKind",
        "ExitKind",
        "ExitSource",
        "Grant",
        "GrantBus",
        "GrantBusFilter",
        "GrantDesktop",
        "GrantDevice",
        "GrantHost",
        "GrantNetView",
        "GrantOpenNetwork",
        "GrantSocket",
        "GrantUnknown",
        "GrantUnmask",
        "GrantWrite",
        "Launch",
        "LaunchContained",
        "LaunchDirect",
        "LaunchUnsandboxed",
    ),
    "efr.wire.shared.jobs": (
        "ForwardOutcome",
        "HeldReason",
        "JobCgroup",
        "JobForward",
        "JobInfo",
        "JobState",
        "JobStopBy",
        "JobWatch",
        "MovedFrom",
        "NoticeKind",
    ),
    "efr.wire.shared.judging": (
        "AlwaysNotSaved",
        "AlwaysOutcome",
        "AlwaysSaved",
        "AlwaysUnknown",
        "ApprovalDecision",
        "ChainStep",
        "JudgeKind",
        "Judgement",
        "NotSavedReason",
        "PauseReason",
        "Presence",
        "PresenceSource",
        "Risk",
        "UserAuthorization",
        "Verdict",
    ),
    "efr.wire.shared.places": (
        "DesktopEnv",
        "RecentCommand",
        "ShellContext",
    ),
    "efr.wire.shared.prompts": (
        "LateSteer",
        "LateSteerQueue",
        "ResentSteers",
        "WithdrawNewestFromTty",
        "WithdrawTarget",
        "WithdrawTurn",
        "WithdrawnPrompt",
        "WithdrawnSteer",
    ),
    "efr.wire.shared.sandbox": (
        "BlockReason",
        "Blocked",
        "BusProxyOff",
        "BusRefused",
        "CacheMode",
        "CheckOutcome",
        "NetworkMode",
        "ReportedFile",
        "SandboxCheck",
        "SandboxPathRole",
        "SandboxPaths",
        "SandboxStatus",
        "SandboxSummary",
        "SurfaceChange",
    ),
    "efr.wire.shared.scopes": (
        "AttachHow",
        "NewReason",
        "NewReasonIdle",
        "NewReasonMoved",
        "NewReasonScope",
        "NewReasonUnknown",
        "Place",
        "PromptRoute",
        "RepoHint",
        "RepoHintGitRepo",
        "RepoHintUnknown",
        "RouteOutside",
        "RouteProject",
        "RouteScope",
        "RouteSwitch",
        "RouteSwitchBack",
        "RouteSwitchNew",
        "RouteSwitchPickedUp",
        "RouteSwitchUnknown",
        "RouteUnknown",
        "Scope",
        "ScopeMachine",
        "ScopePath",
        "ScopeProject",
    ),
    "efr.wire.shared.screen": (
        "Cell",
        "Color",
        "CursorPos",
        "RowCells",
        "ScreenSnapshot",
        "Size",
    ),
    "efr.wire.shared.search": (
        "Range",
        "SearchHit",
        "SearchIndex",
        "SearchKind",
        "SearchLine",
        "SearchPartial",
        "SearchRow",
        "SearchStats",
    ),
    "efr.wire.shared.settings": (
        "EffectiveSettings",
        "Mode",
        "ModeFallback",
        "Overridden",
        "TurnSettings",
    ),
    "efr.wire.shared.shells": (
        "ApprovedBy",
        "InputWait",
        "ShellBusy",
        "ShellCommandEnd",
    ),
    "efr.wire.shared.status": (
        "Catalog",
        "CatalogOrigin",
        "ConfigFileError",
        "ConfigStatus",
        "FullMode",
        "FullRefusal",
        "HeldConfig",
        "LoginKind",
        "ModelInfo",
        "ModelSource",
        "ProjectInfo",
        "ProviderStatus",
        "ReloadResult",
        "RootDir",
        "RootSource",
        "Roots",
    ),
    "efr.wire.shared.tokens": (
        "CompactionTrigger",
        "ContextUse",
        "Usage",
    ),
    "efr.wire.shared.undo": (
        "SnapshotPhase",
        "UndoAction",
        "UndoEntry",
        "UndoReason",
        "UndoRef",
        "UndoRefusal",
        "UndoRefusalAlreadyUndone",
        "UndoRefusalConflicts",
        "UndoRefusalNoTurn",
        "UndoRefusalNotCovered",
        "UndoRefusalNotUndone",
        "UndoRefusalOff",
        "UndoRefusalTurnRunning",
        "UndoRefusalUndoRunning",
        "UndoRefusalUnknown",
        "UndoTurn",
    ),
    "efr.wire.times": (
        "time_from_us",
        "time_to_us",
    ),
}
__getattr__ = home_of_names(globals(), HOMES)
