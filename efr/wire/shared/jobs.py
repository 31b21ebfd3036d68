"""Background jobs (protocol: background jobs)."""

from __future__ import annotations

from enum import StrEnum

from efr.wire.scalars import (
    I32,
    U16,
    U32,
    U64,
    CallId,
    ConversationId,
    JobId,
    Path,
    Time,
    TurnId,
    Wire,
)
from efr.wire.shared.grants import ExitKind, Launch


class JobState(StrEnum):
    """Where a job is in its life. Open."""

    RUNNING = "running"
    EXITED = "exited"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"
    FAILED = "failed"
    UNKNOWN = "unknown"


class JobStopBy(StrEnum):
    """Who stopped a job. Open."""

    MODEL = "model"
    USER = "user"
    TIME_LIMIT = "time_limit"
    DAEMON_STOP = "daemon_stop"
    DAEMON_RESTART = "daemon_restart"
    GUARD = "guard"
    FULL_OFF = "full_off"
    UNKNOWN = "unknown"


class NoticeKind(StrEnum):
    """What a job notice tells. Open."""

    EXITED = "exited"
    WATCH = "watch"
    UNKNOWN = "unknown"


class HeldReason(StrEnum):
    """Why a notice started no turn. Open."""

    WAKE_LIMIT = "wake_limit"
    WAKE_TURN_JOB = "wake_turn_job"
    DAEMON_RESTART = "daemon_restart"
    WAKES_OFF = "wakes_off"
    NOT_AUTO = "not_auto"  # older builds only
    UNKNOWN = "unknown"


class ForwardOutcome(StrEnum):
    """What became of a port of a job. Open."""

    FORWARDED = "forwarded"
    IN_USE = "in_use"
    REFUSED = "refused"
    LIMIT = "limit"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


class JobWatch(Wire, frozen=True):
    """A pattern in the output that starts a turn."""

    pattern: str
    max_wakes: U32


class JobForward(Wire, frozen=True):
    """A port that efr forwards."""

    listen: str
    port: U16


class MovedFrom(Wire, frozen=True):
    """The shell call that a job began as."""

    call_id: CallId
    turn_id: TurnId
    after_secs: U64
    exits: tuple[ExitKind, ...] = ()
    launcher: bool = False


class JobCgroup(Wire, frozen=True):
    """What the job's cgroup counts."""

    off: str | None = None  # why there is none
    memory_bytes: U64 | None = None
    cpu_usec: U64 | None = None


class JobInfo(Wire, frozen=True, kw_only=True):
    """A background job."""

    id: JobId
    conversation_id: ConversationId
    turn_id: TurnId  # that started it
    call_id: CallId
    command: str
    launch: Launch
    state: JobState
    started_at: Time
    ends_by: Time  # its time limit
    ended_at: Time | None = None
    exit_code: I32 | None = None
    stopped_by: JobStopBy | None = None
    watch: JobWatch | None = None
    output: Path
    output_bytes: U64
    wakes: U32 = 0
    forwards: tuple[JobForward, ...] = ()
    moved_from: MovedFrom | None = None
    waits_input: bool = False
    cgroup: JobCgroup | None = None
