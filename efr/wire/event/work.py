"""Events of compactions, snapshots, undo and jobs (protocol: compaction, jobs)."""

from __future__ import annotations

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
from efr.wire.shared.connection import Origin
from efr.wire.shared.files import SnapshotPhase, UndoRef
from efr.wire.shared.jobs import (
    ForwardOutcome,
    HeldReason,
    JobInfo,
    JobState,
    JobStopBy,
    NoticeKind,
)
from efr.wire.shared.sandbox import Blocked, BusRefused, SurfaceChange
from efr.wire.shared.tokens import Compaction


class ConversationCompacted(
    Compaction, frozen=True, tag_field="kind", tag="conversation_compacted"
):
    """A compaction; it belongs to a turn when it has a `turn_id`."""


class SnapshotTaken(OfTurn, frozen=True):
    """A project was recorded before or after a turn."""

    root: Path
    phase: SnapshotPhase
    commit: str
    files: U32
    skipped: U32
    ms: U64


class UndoApplied(Recorded, frozen=True):
    """A turn's changes were taken back, or made again."""

    conversation_id: ConversationId
    undone_turn_id: TurnId
    undo_id: UndoId
    redo: bool
    origin: Origin
    restored: U32
    trashed: U32
    deleted: U32
    conflicts: U32
    not_covered: U32
    refs: tuple[UndoRef, ...] = ()
    trash: Path | None = None
    stopped: bool = False


class JobStarted(OfTurn, frozen=True):
    """A background job runs."""

    call_id: CallId
    job: JobInfo
    launcher_pid: U32
    launcher_start: U64  # as the kernel counts it


class JobWatchMatched(Recorded, frozen=True):
    """The watch of a job matched a line."""

    job_id: JobId
    line: str
    wakes_left: U32


class JobEnded(Recorded, frozen=True, kw_only=True):
    """A background job ended."""

    job_id: JobId
    state: JobState
    exit_code: I32 | None = None
    stopped_by: JobStopBy | None = None
    output_bytes: U64
    ran_secs: U64
    tail: str
    surface_changes: tuple[SurfaceChange, ...] = ()
    quarantined: bool = False
    survivors: tuple[str, ...] = ()
    launcher_lost: bool = False
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
    woke: bool
    source_seq: Seq  # the event that the notice tells about
    not_user_input: bool  # always true
    text: str


class JobNoticeHeld(Recorded, frozen=True):
    """A notice started no turn."""

    job_id: JobId
    source_seq: Seq
    reason: HeldReason


class JobPortForwarded(Recorded, frozen=True):
    """What became of a port that a job listens on."""

    job_id: JobId
    listen: str  # such as 127.0.0.1
    port: U16
    outcome: ForwardOutcome
    by_job: JobId | None = None  # who has the port, for in_use
    reason: str | None = None
