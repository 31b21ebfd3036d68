"""How a call runs and what a yes opens for it (protocol: grants and launches, exits)."""

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Meta

from efr.wire.scalars import U16, Path, Tagged


class BusKind(StrEnum):
    """A message bus."""

    SYSTEM = "system"
    SESSION = "session"


class DesktopKind(StrEnum):
    """A desktop with a control socket."""

    WAYLAND = "wayland"
    X11 = "x11"
    HYPRLAND = "hyprland"
    SWAY = "sway"
    I3 = "i3"
    NIRI = "niri"


class ExitKind(StrEnum):
    """A way out of the sandbox, in the protocol's order."""

    WRITE = "write"  # a write outside the write roots
    HOST = "host"  # a network host
    HOST_VIEW = "host_view"  # a look at the host's network
    SOCKET = "socket"  # a Unix socket of a tool
    DESKTOP_IPC = "desktop_ipc"  # the control socket of a desktop; for the user alone
    BUS = "bus"  # a message bus
    DEVICE = "device"  # a device node
    MASKED_READ = "masked_read"  # a read of a masked path; for the user alone
    DESTRUCTIVE = "destructive"  # something destructive inside the write roots
    OUTSIDE = "outside"  # the model asked to run outside the sandbox
    PRIVILEGE = "privilege"  # `sudo` and other ways to more rights; for the user alone
    PERSISTENCE = "persistence"  # something that runs later; for the user alone
    UPLOAD = "upload"  # data that leaves with credentials; for the user alone
    SYNCED_WRITE = "synced_write"  # a write to a synced folder; for the user alone
    ABOVE_ROOT = "above_root"  # a write at or above a write root; for the user alone
    SECRET = "secret"  # a secret location; always denied
    CONFIG = "config"  # efr's own config; always denied


class ExitSource(StrEnum):
    """How efr came to know of an exit."""

    PREDICTED = "predicted"  # efr read the command line
    NEEDS = "needs"  # the model said so
    CACHE_DELETE = "cache_delete"  # a contained call deleted in a real cache


class GrantWrite(Tagged, frozen=True, tag="write"):
    """A writable bind of this path."""

    path: Path


class GrantHost(Tagged, frozen=True, tag="host"):
    """TCP to one host through the proxy."""

    host: str  # lower case
    port: U16


class GrantOpenNetwork(Tagged, frozen=True, tag="open_network"):
    """The host's network."""


class GrantSocket(Tagged, frozen=True, tag="socket"):
    """One Unix socket."""

    path: Path


class GrantBus(Tagged, frozen=True, tag="bus"):
    """One message bus socket."""

    bus: BusKind


class GrantDevice(Tagged, frozen=True, tag="device"):
    """One device node below /dev."""

    path: Path


class GrantUnmask(Tagged, frozen=True, tag="unmask"):
    """One masked path, never a secret of the engine."""

    path: Path


class GrantDesktop(Tagged, frozen=True, tag="desktop"):
    """The one control socket of the desktop that the prompt came from."""

    # one that the reader does not know makes the whole grant unknown
    desktop: Annotated[DesktopKind, Meta(extra={"else": "unknown"})]


class GrantNetView(Tagged, frozen=True, tag="net_view"):
    """The host's network namespace with only Unix and netlink sockets."""


class GrantBusFilter(Tagged, frozen=True, tag="bus_filter"):
    """A filtered socket of that bus, made for this call."""

    bus: BusKind


class GrantUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version; a launcher refuses a call that holds one."""


Grant: TypeAlias = (
    GrantWrite
    | GrantHost
    | GrantOpenNetwork
    | GrantSocket
    | GrantBus
    | GrantDevice
    | GrantUnmask
    | GrantDesktop
    | GrantNetView
    | GrantBusFilter
    | GrantUnknown
)


class LaunchDirect(Tagged, frozen=True, tag="direct"):
    """Typed into the hidden shell."""


class LaunchContained(Tagged, frozen=True, tag="contained"):
    """In the sandbox, widened by the grants."""

    grants: tuple[Grant, ...] = ()


class LaunchUnsandboxed(Tagged, frozen=True, tag="unsandboxed"):
    """In the exit child, outside the sandbox."""


Launch: TypeAlias = LaunchDirect | LaunchContained | LaunchUnsandboxed
