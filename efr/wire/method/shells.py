"""Methods of jobs, calls, hidden shells and PTYs (protocol: methods 22 to 30)."""

from typing import TypeAlias

from efr.wire.method.base import Nothing
from efr.wire.scalars import (
    U32,
    Bytes,
    CallId,
    CommandId,
    ConversationId,
    JobId,
    Params,
    PtyId,
    Seq,
    Tagged,
    Wire,
)
from efr.wire.shared.grants import ExitKind
from efr.wire.shared.jobs import JobInfo
from efr.wire.shared.screen import ScreenSnapshot, Size
from efr.wire.shared.shells import ShellBusy


class JobsListParams(Params, frozen=True):
    """List background jobs."""

    # absent: the terminal's, or all without a terminal
    conversation_id: ConversationId | None = None


class JobsListResult(Wire, frozen=True):
    """The newest first, at most 200."""

    jobs: tuple[JobInfo, ...] = ()


class JobsStopParams(Params, frozen=True, kw_only=True):
    """Stop a background job."""

    command_id: CommandId
    conversation_id: ConversationId | None = None  # absent: the terminal's
    job_id: JobId


class JobsStopResult(Wire, frozen=True):
    """The job after that."""

    job: JobInfo


class CallBackgroundParams(Params, frozen=True):
    """Move a running shell call to a background job."""

    command_id: CommandId
    conversation_id: ConversationId
    call_id: CallId
    confirm: str | None = None  # the token of a preview


class CallMoved(Tagged, frozen=True, tag="moved"):
    """The call is a job now."""

    job_id: JobId


class CallPreview(Tagged, frozen=True, tag="preview"):
    """A call outside the sandbox needs a yes first; nothing moved."""

    token: str  # for `confirm`
    command: str
    max_minutes: U32  # how long the job may run
    exits: tuple[ExitKind, ...] = ()  # what the call was allowed


class CallBackgroundUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


CallBackgroundResult: TypeAlias = CallMoved | CallPreview | CallBackgroundUnknown


class ShellInterruptParams(Params, frozen=True):
    """Interrupt a command that a call left running, or close its hidden shell."""

    command_id: CommandId
    conversation_id: ConversationId
    call_id: CallId
    close: bool = False  # close the hidden shell instead of a SIGINT


ShellInterruptResult: TypeAlias = Nothing


class ShellStatusParams(Params, frozen=True):
    """Tell whether a command that was left running keeps the hidden shell busy."""

    conversation_id: ConversationId


class ShellStatusResult(Wire, frozen=True):
    """The command, if there is one."""

    busy: ShellBusy | None = None  # absent: the shell is free


class PtyAttachParams(Params, frozen=True):
    """Follow the screen and the output of a hidden shell."""

    pty_id: PtyId
    since_seq: Seq | None = None  # the offset already drawn
    scrollback_rows: U32 | None = None  # 200 when absent, at most 5000


class PtySnapshot(Tagged, frozen=True, tag="snapshot"):
    """The screen at an offset of the recording."""

    seq: Seq  # an offset in bytes
    snapshot: ScreenSnapshot


class PtyOutput(Tagged, frozen=True, tag="output"):
    """Bytes of the recording."""

    seq: Seq  # offset of the first byte
    data: Bytes


class PtyResized(Tagged, frozen=True, tag="resized"):
    """The PTY has another size from here on."""

    seq: Seq  # an offset in bytes
    size: Size


PtyAttachItem: TypeAlias = PtySnapshot | PtyOutput | PtyResized


class PtyWriteParams(Params, frozen=True):
    """Type bytes into a hidden shell."""

    pty_id: PtyId
    data: Bytes  # may be a password: nobody knows what the program asked for

    def __repr__(self) -> str:
        return f"PtyWriteParams(pty_id={self.pty_id!r}, data=[redacted])"


PtyWriteResult: TypeAlias = Nothing


class PtyResizeParams(Params, frozen=True):
    """Ask for another size of a hidden shell's terminal."""

    pty_id: PtyId
    size: Size


class PtyResizeResult(Wire, frozen=True):
    """The size it has now."""

    size: Size


class LeaseReportParams(Params, frozen=True, kw_only=True):
    """Say what this client shows; it replaces the connection's earlier report."""

    conversations: tuple[ConversationId, ...] = ()
    ptys: tuple[PtyId, ...] = ()
    visible: bool  # a person can see it


class LeaseReportResult(Wire, frozen=True):
    """How long the report holds."""

    ttl_secs: U32
