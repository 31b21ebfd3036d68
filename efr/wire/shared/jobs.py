"""Background jobs (protocol: background jobs)."""

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
    TIMED_OUT = "timed_out"  # at its time limit
    FAILED = "failed"  # it could not start, or got lost
    UNKNOWN = "unknown"


class JobStopBy(StrEnum):
    """Who stopped a job. Open."""

    MODEL = "model"  # the model asked
    USER = "user"  # the user asked
    TIME_LIMIT = "time_limit"  # it ran too long
    DAEMON_STOP = "daemon_stop"  # efrd stopped
    DAEMON_RESTART = "daemon_restart"  # efrd was gone
    GUARD = "guard"  # a guard of efr's
    FULL_OFF = "full_off"  # full mode was turned off
    UNKNOWN = "unknown"


class NoticeKind(StrEnum):
    """What a job notice tells. Open."""

    EXITED = "exited"  # the job ended
    WATCH = "watch"  # its watch matched
    UNKNOWN = "unknown"


class HeldReason(StrEnum):
    """Why a notice started no turn. Open."""

    WAKE_LIMIT = "wake_limit"  # notices started enough turns
    WAKE_TURN_JOB = "wake_turn_job"  # a turn of a notice started the job
    DAEMON_RESTART = "daemon_restart"  # efrd was gone
    WAKES_OFF = "wakes_off"  # the config turns such turns off
    NOT_AUTO = "not_auto"  # older builds only
    UNKNOWN = "unknown"


class ForwardOutcome(StrEnum):
    """What became of a port of a job. Open."""

    FORWARDED = "forwarded"  # the port is open on the user's side
    IN_USE = "in_use"  # something has the port already
    REFUSED = "refused"  # efr does not forward this port
    LIMIT = "limit"  # too many ports are forwarded
    STOPPED = "stopped"  # the forward is over
    UNKNOWN = "unknown"


class JobWatch(Wire, frozen=True):
    """A pattern in the output that starts a turn."""

    pattern: str
    max_wakes: U32  # turns it may start


class JobForward(Wire, frozen=True):
    """A port that efr forwards."""

    listen: str  # such as 127.0.0.1
    port: U16


class MovedFrom(Wire, frozen=True):
    """The shell call that a job began as."""

    call_id: CallId
    turn_id: TurnId
    after_secs: U64  # how long the call had run
    exits: tuple[ExitKind, ...] = ()
    launcher: bool = False  # the call ran through efr's launcher


class JobCgroup(Wire, frozen=True):
    """What the job's cgroup counts."""

    off: str | None = None  # why there is none
    memory_bytes: U64 | None = None  # now, or the most at the end
    cpu_usec: U64 | None = None


class JobInfo(Wire, frozen=True, kw_only=True):
    """A background job."""

    id: JobId  # unique in its conversation
    conversation_id: ConversationId
    turn_id: TurnId  # that started it
    call_id: CallId
    command: str  # the line that runs
    launch: Launch
    state: JobState
    started_at: Time
    ends_by: Time  # its time limit
    ended_at: Time | None = None  # absent while it runs
    exit_code: I32 | None = None
    stopped_by: JobStopBy | None = None  # absent when it ended by itself
    watch: JobWatch | None = None  # absent: none
    output: Path  # the file that holds its output
    output_bytes: U64
    wakes: U32 = 0  # turns that its watch started
    forwards: tuple[JobForward, ...] = ()
    moved_from: MovedFrom | None = None  # absent for a job that the model started
    waits_input: bool = False  # a moved job waits for a line that is no secret
    cgroup: JobCgroup | None = None
