"""Who decided about an exit and how (protocol: judging)."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from efr.wire.scalars import U32, Tagged, Wire


class Verdict(StrEnum):
    """What a judge says."""

    ALLOW = "allow"
    DENY = "deny"
    ASK_USER = "ask_user"


class Risk(StrEnum):
    """How much harm a call can do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class UserAuthorization(StrEnum):
    """How clearly the user asked for it."""

    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class JudgeKind(StrEnum):
    """Who judged."""

    CLASSIFIER = "classifier"
    USER = "user"
    FLOOR = "floor"
    ALWAYS = "always"
    PRESENCE_EXPIRED = "presence_expired"
    FULL = "full"


class ChainStep(StrEnum):
    """Which step of the judging chain answered. Open."""

    CLASSIFIER_MODEL = "classifier_model"
    TURN_MODEL = "turn_model"
    USER = "user"
    UNKNOWN = "unknown"


class PauseReason(StrEnum):
    """Why the classifier pauses. Open."""

    IN_A_ROW = "in_a_row"
    PER_TURN = "per_turn"
    UNKNOWN = "unknown"


class ApprovalDecision(StrEnum):
    """The user's answer to a question."""

    ALLOW = "allow"
    DENY = "deny"
    ALLOW_ALWAYS = "allow_always"


class Judgement(Wire, frozen=True):
    """The classifier's answer."""

    verdict: Verdict
    risk: Risk
    user_authorization: UserAuthorization
    category: str  # at most 40 characters
    rationale: str  # at most 300 characters


class NotSavedReason(StrEnum):
    """Why a rule was not saved. Open."""

    CHANGED = "changed"
    READ_ONLY = "read_only"
    LOAD_CHECK = "load_check"
    IO = "io"
    RELOAD_TIMEOUT = "reload_timeout"
    UNKNOWN = "unknown"


class AlwaysSaved(Tagged, frozen=True, tag="saved"):
    """The rule is in the config."""

    index: U32
    rule: str  # in words


class AlwaysNotSaved(Tagged, frozen=True, tag="not_saved"):
    """The rule is not in the config; the call ran."""

    reason: NotSavedReason


class AlwaysUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


AlwaysOutcome: TypeAlias = AlwaysSaved | AlwaysNotSaved | AlwaysUnknown


class Presence(StrEnum):
    """Whether the user is there. Open."""

    PRESENT = "present"
    AWAY = "away"
    UNKNOWN = "unknown"


class PresenceSource(StrEnum):
    """What told efr. Open."""

    INPUT = "input"
    USER = "user"
    TIMEOUT = "timeout"
    UNKNOWN = "unknown"
