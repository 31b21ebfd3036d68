"""Who decided about an exit and how (protocol: judging)."""

from enum import StrEnum
from typing import TypeAlias

from efr.wire.scalars import U32, Tagged, Wire


class Verdict(StrEnum):
    """What a judge says."""

    ALLOW = "allow"
    DENY = "deny"
    ASK_USER = "ask_user"  # the user decides


class Risk(StrEnum):
    """How much harm a call can do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class UserAuthorization(StrEnum):
    """How clearly the user asked for it."""

    NONE = "none"  # not at all
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class JudgeKind(StrEnum):
    """Who judged."""

    CLASSIFIER = "classifier"  # a model that reviews
    USER = "user"  # the user
    FLOOR = "floor"  # a rule that no answer changes
    ALWAYS = "always"  # a saved rule
    PRESENCE_EXPIRED = "presence_expired"  # nobody was there
    FULL = "full"  # full mode let it run, or its question expired


class ChainStep(StrEnum):
    """Which step of the judging chain answered. Open."""

    CLASSIFIER_MODEL = "classifier_model"  # the model set for reviews
    TURN_MODEL = "turn_model"  # the model of the turn
    USER = "user"  # the user
    UNKNOWN = "unknown"


class PauseReason(StrEnum):
    """Why the classifier pauses. Open."""

    IN_A_ROW = "in_a_row"  # denials in a row
    PER_TURN = "per_turn"  # denials in one turn
    UNKNOWN = "unknown"


class ApprovalDecision(StrEnum):
    """The user's answer to a question."""

    ALLOW = "allow"  # run the call
    DENY = "deny"  # do not
    ALLOW_ALWAYS = "allow_always"  # run it and save the rule that the question offered


class Judgement(Wire, frozen=True):
    """The classifier's answer."""

    verdict: Verdict
    risk: Risk
    user_authorization: UserAuthorization
    category: str  # at most 40 characters
    rationale: str  # at most 300 characters


class NotSavedReason(StrEnum):
    """Why a rule was not saved. Open."""

    CHANGED = "changed"  # the config file changed meanwhile
    READ_ONLY = "read_only"  # the config file cannot be written
    LOAD_CHECK = "load_check"  # the config would not load with the rule
    IO = "io"  # reading or writing failed
    RELOAD_TIMEOUT = "reload_timeout"  # the daemon did not take it in time
    UNKNOWN = "unknown"


class AlwaysSaved(Tagged, frozen=True, tag="saved"):
    """The rule is in the config."""

    index: U32  # of the rule, in its file
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

    INPUT = "input"  # the user typed
    USER = "user"  # the user said so
    TIMEOUT = "timeout"  # nothing was typed for a while
    UNKNOWN = "unknown"
