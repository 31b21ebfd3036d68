"""Events of hidden shells, and of the daemon as a whole (protocol: shell and daemon)."""

from __future__ import annotations

from efr.wire.event.base import Recorded
from efr.wire.scalars import I32, U32, CallId, Path, PtyId
from efr.wire.shared.shells import InputWait, ShellBusy, ShellCommandEnd


class ShellStarted(Recorded, frozen=True):
    """A hidden shell runs."""

    pty_id: PtyId
    cwd: Path
    pid: U32 | None = None


class ShellExited(Recorded, frozen=True):
    """A hidden shell is gone; without a code a signal ended it."""

    pty_id: PtyId
    exit_code: I32 | None = None


class CwdChanged(Recorded, frozen=True):
    """A hidden shell is in another directory."""

    pty_id: PtyId
    cwd: Path
    host: str | None = None


class ShellCommandDetached(ShellBusy, frozen=True, tag_field="kind", tag="shell_command_detached"):
    """A command runs on after its call answered the model."""


class ShellCommandInputChanged(Recorded, frozen=True):
    """Such a command began or stopped waiting for input."""

    call_id: CallId
    input: InputWait
    contained: bool
    looks_secret: bool = False
    prompt: str | None = None


class ShellCommandEnded(Recorded, frozen=True):
    """Such a command is over."""

    call_id: CallId
    how: ShellCommandEnd
    exit_code: I32 | None = None


class LoginCompleted(Recorded, frozen=True):
    """A login worked."""

    provider: str


class LogoutCompleted(Recorded, frozen=True):
    """A login was removed."""

    provider: str
