"""Params, results and items of every method (`from efr.wire import methods as m`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from efr.wire.lazy import home_of_names

if TYPE_CHECKING:
    from efr.wire.method.admin import *  # noqa: F403
    from efr.wire.method.answers import *  # noqa: F403
    from efr.wire.method.base import *  # noqa: F403
    from efr.wire.method.conversations import *  # noqa: F403
    from efr.wire.method.devices import *  # noqa: F403
    from efr.wire.method.hello import *  # noqa: F403
    from efr.wire.method.life import *  # noqa: F403
    from efr.wire.method.prompts import *  # noqa: F403
    from efr.wire.method.shells import *  # noqa: F403
    from efr.wire.method.subscribe import *  # noqa: F403
    from efr.wire.method.turns import *  # noqa: F403

HOMES = {
    "efr.wire.method.admin": (
        "AdminConfigReloadParams",
        "AdminConfigReloadResult",
        "AdminLoginApiKeyParams",
        "AdminLoginApiKeyResult",
        "AdminLoginOpenaiItem",
        "AdminLoginOpenaiParams",
        "AdminLogoutParams",
        "AdminLogoutResult",
        "AdminProjectAddParams",
        "AdminProjectAddResult",
        "AdminProjectRemoveParams",
        "AdminProjectRemoveResult",
        "AdminSandboxCheckParams",
        "AdminSandboxCheckResult",
        "AdminStatusParams",
        "AdminStatusResult",
        "LoginAuthorizeUrl",
        "LoginDone",
        "ModelsListParams",
        "ModelsListResult",
        "ProjectChanged",
        "ProjectsListParams",
        "ProjectsListResult",
        "SandboxExplainParams",
        "SandboxExplainResult",
    ),
    "efr.wire.method.answers": (
        "ApprovalRespondParams",
        "ApprovalRespondResult",
        "InputRespondParams",
        "InputRespondResult",
        "PresenceSetParams",
        "PresenceSetResult",
        "SandboxSurfaceRespondParams",
        "SandboxSurfaceRespondResult",
    ),
    "efr.wire.method.base": ("Nothing",),
    "efr.wire.method.conversations": (
        "ConversationContextParams",
        "ConversationContextResult",
        "ConversationDiffParams",
        "ConversationDiffResult",
        "ConversationHistoryParams",
        "ConversationHistoryResult",
        "ConversationSearchParams",
        "ConversationSearchResult",
        "ConversationsListParams",
        "ConversationsListResult",
        "ConversationsRecentParams",
        "ConversationsRecentResult",
        "ConversationsSearchParams",
        "ConversationsSearchResult",
        "ConversationsWatchItem",
        "ConversationsWatchParams",
        "WatchChanged",
        "WatchRemoved",
        "WatchSnapshot",
    ),
    "efr.wire.method.devices": (
        "DeviceEnrollParams",
        "DeviceEnrollResult",
        "DeviceListParams",
        "DeviceListResult",
        "DevicePairConfirmParams",
        "DevicePairConfirmResult",
        "DevicePairStartItem",
        "DevicePairStartParams",
        "DeviceProveParams",
        "DeviceProveResult",
        "DeviceRevokeParams",
        "DeviceRevokeResult",
        "PairEnded",
        "PairPaired",
        "PairPending",
        "PairStarted",
    ),
    "efr.wire.method.hello": (
        "HelloParams",
        "HelloResult",
    ),
    "efr.wire.method.life": (
        "ConversationCompactParams",
        "ConversationCompactResult",
        "ConversationDeleteHeld",
        "ConversationDeleteParams",
        "ConversationDeleteResult",
        "ConversationDeleteUnknown",
        "ConversationDeleted",
        "ConversationResumeHeld",
        "ConversationResumeParams",
        "ConversationResumeResult",
        "ConversationResumeUnknown",
        "ConversationResumed",
        "TurnUndoParams",
        "TurnUndoResult",
    ),
    "efr.wire.method.prompts": (
        "PromptSendParams",
        "PromptSendResult",
    ),
    "efr.wire.method.shells": (
        "CallBackgroundParams",
        "CallBackgroundResult",
        "CallBackgroundUnknown",
        "CallMoved",
        "CallPreview",
        "JobsListParams",
        "JobsListResult",
        "JobsStopParams",
        "JobsStopResult",
        "LeaseReportParams",
        "LeaseReportResult",
        "PtyAttachItem",
        "PtyAttachParams",
        "PtyOutput",
        "PtyResizeParams",
        "PtyResizeResult",
        "PtyResized",
        "PtySnapshot",
        "PtyWriteParams",
        "PtyWriteResult",
        "ShellInterruptParams",
        "ShellInterruptResult",
        "ShellStatusParams",
        "ShellStatusResult",
    ),
    "efr.wire.method.subscribe": (
        "ConversationSubscribeItem",
        "ConversationSubscribeParams",
        "SubscribeDraft",
        "SubscribeEvent",
        "SubscribeSnapshot",
    ),
    "efr.wire.method.turns": (
        "PromptWithdrawParams",
        "PromptWithdrawResult",
        "TurnInterruptParams",
        "TurnInterruptResult",
        "TurnSteerParams",
        "TurnSteerResult",
    ),
}
__getattr__ = home_of_names(globals(), HOMES)
