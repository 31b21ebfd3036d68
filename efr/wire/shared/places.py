"""The shell that a prompt was typed in (protocol: shell_context)."""

from efr.wire.scalars import I32, U32, U64, Path, Time, Wire


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
