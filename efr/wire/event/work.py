"""Events of compactions, snapshots, undo and jobs (protocol: compaction, jobs)."""

from efr.wire.event.base import OfTurn, Recorded
from efr.wire.scalars import (
    I32,
    U16,
    U32,
    U64,
    CallId,
    ConversationId,
    JobId,
    Path,
    Seq,
    TurnId,
    UndoId,
)
from efr.wire.shared.compaction import Compaction
from efr.wire.shared.connection import Origin
from efr.wire.shared.jobs import (
    ForwardOutcome,
    HeldReason,
    JobInfo,
    JobState,
    JobStopBy,
    NoticeKind,
)
from efr.wire.shared.sandbox import Blocked, BusRefused, SurfaceChange
from efr.wire.shared.undo import SnapshotPhase, UndoRef


class ConversationCompacted(
    Compaction, frozen=True, tag_field="kind", tag="conversation_compacted"
):
    """Older turns were replaced by a summary, or old tool results by stubs."""


class SnapshotTaken(OfTurn, frozen=True):
    """A project was recorded before or after a turn."""

    root: Path
    phase: SnapshotPhase
    commit: str  # its hash
    files: U32  # in the snapshot
    skipped: U32  # files left out
    ms: U64  # how long it took


class UndoApplied(Recorded, frozen=True):
    """A turn's changes were taken back, or made again."""

    conversation_id: ConversationId
    undone_turn_id: TurnId
    undo_id: UndoId
    redo: bool  # they were made again
    origin: Origin
    restored: U32  # files
    trashed: U32  # files
    deleted: U32  # files
    conflicts: U32  # files left alone because they changed since
    not_covered: U32  # files that no snapshot holds
    refs: tuple[UndoRef, ...] = ()
    trash: Path | None = None  # where removed files went
    stopped: bool = False  # a write failed after files were changed


class JobStarted(OfTurn, frozen=True):
    """A background job runs."""

    call_id: CallId
    job: JobInfo
    launcher_pid: U32  # the process that runs it
    launcher_start: U64  # when that process started, as the kernel counts it


class JobWatchMatched(Recorded, frozen=True):
    """The watch of a job matched a line of its output."""

    job_id: JobId
    line: str
    wakes_left: U32  # turns that the watch may still start


class JobEnded(Recorded, frozen=True, kw_only=True):
    """A background job ended."""

    job_id: JobId
    state: JobState
    exit_code: I32 | None = None
    stopped_by: JobStopBy | None = None
    output_bytes: U64
    ran_secs: U64
    tail: str  # the end of its output
    surface_changes: tuple[SurfaceChange, ...] = ()
    quarantined: bool = False
    survivors: tuple[str, ...] = ()  # programs that efr could not end
    launcher_lost: bool = False  # the process that ran it was gone
    output_truncated: bool = False
    blocked: tuple[Blocked, ...] = ()
    blocked_more: U32 = 0
    bus_refused: tuple[BusRefused, ...] = ()
    bus_refused_more: U32 = 0


class JobNotice(Recorded, frozen=True):
    """News of a job for the model; the first event of a turn that it starts."""

    conversation_id: ConversationId
    turn_id: TurnId
    job_id: JobId
    notice_kind: NoticeKind
    woke: bool  # it started the turn
    source_seq: Seq  # the event that it tells about
    not_user_input: bool  # always true
    text: str


class JobNoticeHeld(Recorded, frozen=True):
    """News of a job started no turn."""

    job_id: JobId
    source_seq: Seq  # the event that it tells about
    reason: HeldReason


class JobPortForwarded(Recorded, frozen=True):
    """What became of a port that a job listens on."""

    job_id: JobId
    listen: str  # such as 127.0.0.1
    port: U16
    outcome: ForwardOutcome
    by_job: JobId | None = None  # who has the port, for in_use
    reason: str | None = None  # a few words for `refused` and `limit`
