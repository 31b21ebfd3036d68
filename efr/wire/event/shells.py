"""Events of hidden shells, and of the daemon as a whole (protocol: shell and daemon)."""

from efr.wire.event.base import Recorded
from efr.wire.scalars import I32, U32, CallId, Path, PtyId
from efr.wire.shared.shells import InputWait, ShellBusy, ShellCommandEnd


class ShellStarted(Recorded, frozen=True):
    """A hidden shell runs."""

    pty_id: PtyId
    cwd: Path
    pid: U32 | None = None  # of the shell


class ShellExited(Recorded, frozen=True):
    """A hidden shell is gone."""

    pty_id: PtyId
    exit_code: I32 | None = None  # absent: a signal ended it


class CwdChanged(Recorded, frozen=True):
    """A hidden shell is in another directory."""

    pty_id: PtyId
    cwd: Path
    host: str | None = None  # when that is another machine


class ShellCommandDetached(ShellBusy, frozen=True, tag_field="kind", tag="shell_command_detached"):
    """A command runs on after its call answered the model."""


class ShellCommandInputChanged(Recorded, frozen=True):
    """Such a command began or stopped waiting for input."""

    call_id: CallId
    input: InputWait
    contained: bool  # it runs in the sandbox
    looks_secret: bool = False
    prompt: str | None = None  # the screen row of the cursor, at most 200 characters


class ShellCommandEnded(Recorded, frozen=True):
    """Such a command is over, or is a job now."""

    call_id: CallId
    how: ShellCommandEnd
    exit_code: I32 | None = None  # absent when not known


class LoginCompleted(Recorded, frozen=True):
    """A login worked."""

    provider: str


class LogoutCompleted(Recorded, frozen=True):
    """A login was removed."""

    provider: str
