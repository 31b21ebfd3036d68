"""The user's shell and the hidden one (protocol: shell_context, hidden shell, input)."""

from __future__ import annotations

from enum import StrEnum

from efr.wire.scalars import I32, U32, U64, CallId, Path, Time, Wire


class DesktopEnv(Wire, frozen=True):
    """Variables of the user's shell that name its desktop."""

    wayland_display: str | None = None  # `$WAYLAND_DISPLAY`
    display: str | None = None  # `$DISPLAY`
    hyprland_instance_signature: str | None = None  # `$HYPRLAND_INSTANCE_SIGNATURE`
    swaysock: str | None = None  # `$SWAYSOCK`
    i3sock: str | None = None  # `$I3SOCK`
    niri_socket: str | None = None  # `$NIRI_SOCKET`
    has_xauthority: bool = False  # the shell has `$XAUTHORITY`; its path is never sent


class ShellContext(Wire, frozen=True):
    """State of the user's shell when a prompt was sent; never a command line."""

    pwd: Path  # `$PWD`
    oldpwd: Path | None = None  # `$OLDPWD`
    tty: str | None = None  # the terminal, such as /dev/pts/3
    shell_pid: U32 | None = None  # `$$`
    last_status: I32 | None = None  # `$?`
    shlvl: U32 | None = None  # `$SHLVL`
    ssh_connection: str | None = None  # `$SSH_CONNECTION`
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
    VISIBLE = "visible"  # a line that the terminal shows
    HIDDEN = "hidden"  # a line that the terminal hides, such as a password


class ApprovedBy(StrEnum):
    """Who let a command run. Open."""

    YOU = "you"  # the user
    YOUR_RULE = "your_rule"  # a saved rule
    REVIEWER = "reviewer"  # a model that reviews
    FULL_MODE = "full_mode"  # nobody had to
    UNKNOWN = "unknown"


class ShellCommandEnd(StrEnum):
    """How a command left running ended. Open."""

    ENDED = "ended"  # by itself
    STOPPED = "stopped"  # the user stopped it
    LIMIT = "limit"  # at its time limit
    CLOSED = "closed"  # the hidden shell was closed
    SHELL_EXITED = "shell_exited"  # the hidden shell ended
    MOVED = "moved"  # it is a background job now
    UNKNOWN = "unknown"


class ShellBusy(Wire, frozen=True):
    """A command that its call left running in the hidden shell."""

    call_id: CallId  # that left it running
    command: str  # the first 200 characters of the line
    since: Time  # when it started
    contained: bool  # it runs in the sandbox
    input: InputWait
    looks_secret: bool = False  # as in tool_call_input_changed
    prompt: str | None = None  # the screen row of the cursor, at most 200 characters
    approved_by: ApprovedBy | None = None
