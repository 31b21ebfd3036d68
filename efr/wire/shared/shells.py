"""The user's shell and the hidden one (protocol: shell_context, hidden shell, input)."""

from __future__ import annotations

from enum import StrEnum

from efr.wire.scalars import I32, U32, U64, CallId, Path, Time, Wire


class DesktopEnv(Wire, frozen=True):
    """Variables of the user's shell that name its desktop."""

    wayland_display: str | None = None
    display: str | None = None
    hyprland_instance_signature: str | None = None
    swaysock: str | None = None
    i3sock: str | None = None
    niri_socket: str | None = None
    has_xauthority: bool = False  # its path is never sent


class ShellContext(Wire, frozen=True):
    """State of the user's shell when a prompt was sent; never a command line."""

    pwd: Path
    oldpwd: Path | None = None
    tty: str | None = None
    shell_pid: U32 | None = None
    last_status: I32 | None = None
    shlvl: U32 | None = None
    ssh_connection: str | None = None
    hostname: str | None = None
    desktop: DesktopEnv | None = None  # absent when all six variables are unset


class RecentCommand(Wire, frozen=True):
    """A command line of the terminal, for the preamble of a turn and nothing else."""

    command: str
    status: I32 | None = None
    cwd: Path | None = None
    ended_at: Time | None = None
    duration_ms: U64 | None = None


class InputWait(StrEnum):
    """What a running command waits for."""

    NONE = "none"
    VISIBLE = "visible"
    HIDDEN = "hidden"


class ApprovedBy(StrEnum):
    """Who let a command run. Open."""

    YOU = "you"
    YOUR_RULE = "your_rule"
    REVIEWER = "reviewer"
    FULL_MODE = "full_mode"
    UNKNOWN = "unknown"


class ShellCommandEnd(StrEnum):
    """How a command left running ended. Open."""

    ENDED = "ended"
    STOPPED = "stopped"
    LIMIT = "limit"
    CLOSED = "closed"
    SHELL_EXITED = "shell_exited"
    MOVED = "moved"
    UNKNOWN = "unknown"


class ShellBusy(Wire, frozen=True):
    """A command that its call left running in the hidden shell."""

    call_id: CallId
    command: str  # the first 200 characters of the line
    since: Time
    contained: bool
    input: InputWait
    looks_secret: bool = False
    prompt: str | None = None  # the screen row of the cursor, at most 200 characters
    approved_by: ApprovedBy | None = None
