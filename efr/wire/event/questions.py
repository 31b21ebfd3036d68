"""Events of questions, exits and the sandbox's findings (protocol: questions and exits)."""

from efr.wire.event.base import OfTurn, Recorded
from efr.wire.scalars import U32, U64, CallId, ConversationId, Path, QuestionId
from efr.wire.shared.connection import Origin
from efr.wire.shared.exits import ExitInfo, ExitRecord
from efr.wire.shared.grants import ExitKind, ExitSource, Grant
from efr.wire.shared.judging import (
    AlwaysOutcome,
    ApprovalDecision,
    ChainStep,
    JudgeKind,
    PauseReason,
    Presence,
    PresenceSource,
    Risk,
    UserAuthorization,
    Verdict,
)
from efr.wire.shared.sandbox import ReportedFile, SurfaceChange


class ApprovalRequested(OfTurn, frozen=True):
    """A call waits for the user's answer."""

    call_id: CallId
    summary: str  # what the call wants, in one line
    diff_preview: str | None = None
    interactive: bool = False  # the call may wait for input at the terminal
    exit: ExitInfo | None = None  # the exits that it asks for
    expires_in_secs: U32 | None = None  # only for a question with a fixed time to live
    local_only: bool = False  # only the user's own machine may answer
    reason: str | None = None  # why the mode asks


class ApprovalResolved(OfTurn, frozen=True):
    """The question was answered."""

    call_id: CallId
    decision: ApprovalDecision
    origin: Origin


class ApprovalExpired(OfTurn, frozen=True):
    """Nobody answered in time, or the daemon restarted."""

    call_id: CallId
    away: bool = False  # the user was away


class AlwaysRuleSaved(OfTurn, frozen=True):
    """What became of the rule of an `allow_always`."""

    call_id: CallId
    outcome: AlwaysOutcome


class ExitRequested(OfTurn, frozen=True, kw_only=True):
    """A call wants out of the sandbox."""

    call_id: CallId
    kinds: tuple[ExitKind, ...]
    grants: tuple[Grant, ...] = ()
    source: ExitSource
    record: ExitRecord  # what a judge sees


class ExitReviewStarted(OfTurn, frozen=True):
    """A model reviews an exit."""

    call_id: CallId
    kinds: tuple[ExitKind, ...]


class ExitJudged(OfTurn, frozen=True):
    """Somebody decided about an exit."""

    call_id: CallId
    judge: JudgeKind
    verdict: Verdict
    model: str | None = None  # that judged
    latency_ms: U64 | None = None
    risk: Risk | None = None
    user_authorization: UserAuthorization | None = None
    category: str | None = None
    rationale: str | None = None
    record_sha256: str | None = None  # of the record, in lowercase hex
    cached: bool = False  # the answer to an equal record
    chain_step: ChainStep | None = None
    skipped: tuple[str, ...] = ()  # models that the chain skipped
    reasked: bool = False  # the model gave no real reason at first


class ClassifierPaused(OfTurn, frozen=True):
    """Too many denials: the user decides for now."""

    reason: PauseReason
    denials: U32  # how many there were


class PresenceChanged(Recorded, frozen=True):
    """The user came or went."""

    conversation_id: ConversationId
    presence: Presence
    source: PresenceSource


class CacheDeleteApplied(OfTurn, frozen=True):
    """Deletes of a contained call reached the real cache."""

    call_id: CallId
    paths: tuple[Path, ...]
    freed_bytes: U64


class HomeFileChanged(OfTurn, frozen=True):
    """A file of the home outside projects changed."""

    call_id: CallId
    path: Path
    floor: bool  # a protected file, such as ~/.zshrc
    covered: bool | None = None  # an undo can bring it back
    backup: Path | None = None  # only in older logs
    real: Path | None = None  # when `path` reaches it through a link


class SandboxSurfaceChanged(OfTurn, frozen=True):
    """Files that run code changed."""

    call_id: CallId
    changes: tuple[SurfaceChange, ...]
    quarantined: bool  # they were moved away until the user answers


class SurfaceQuestionRequested(OfTurn, frozen=True):
    """The user is asked whether such changes stay."""

    call_id: CallId
    question_id: QuestionId
    changes: tuple[SurfaceChange, ...]


class SurfaceQuestionAnswered(OfTurn, frozen=True):
    """The changes stay, or are taken back."""

    question_id: QuestionId
    keep: bool
    origin: Origin | None = None  # absent: it expired, or the turn was interrupted


class TurnSurfaceReport(OfTurn, frozen=True):
    """Files that a person should look at after the turn."""

    files: tuple[ReportedFile, ...]


class SandboxUnavailable(Recorded, frozen=True):
    """The sandbox does not work on this machine now."""

    reason: str  # one sentence
