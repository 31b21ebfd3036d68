"""hello, the first method of every connection (protocol: method 1)."""

from msgspec import field

from efr.wire.scalars import U32, DaemonId, DeviceId, Params, Wire
from efr.wire.shared.connection import Capabilities, DaemonPaths, Origin, ProveFacts


class HelloParams(Params, frozen=True):
    """Open a connection: the first request on every one."""

    protocol: U32  # the client's version
    origin: Origin  # a remote connection counts as `phone`, whatever this says
    client: str | None = None  # program and version, for logs
    capabilities: Capabilities = field(default_factory=Capabilities)  # what the client supports
    tty: str | None = None  # the client's terminal; ignored on a remote connection
    pid: U32 | None = None  # of the client, for logs
    device_id: DeviceId | None = None  # only remote connections send it


class HelloResult(Wire, frozen=True, kw_only=True):
    """The daemon and what it supports."""

    daemon_id: DaemonId
    protocol: U32  # the daemon's version
    version: str  # of the program, for people
    # what the daemon supports on this connection
    capabilities: Capabilities = field(default_factory=Capabilities)
    paths: DaemonPaths  # both empty on a remote connection
    challenge: str  # unpadded base64url; only remote devices use it
    prove: ProveFacts | None = None  # only on a remote connection
