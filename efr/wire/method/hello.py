"""hello, the first method of every connection (protocol: method 1)."""

from __future__ import annotations

from msgspec import field

from efr.wire.scalars import U32, DaemonId, DeviceId, Params, Wire
from efr.wire.shared.connection import Capabilities, DaemonPaths, Origin, ProveFacts


class HelloParams(Params, frozen=True):
    """Who connects. A remote connection is `phone` without a tty, whatever it says."""

    protocol: U32
    origin: Origin
    client: str | None = None  # program and version, for logs
    capabilities: Capabilities = field(default_factory=Capabilities)
    tty: str | None = None
    pid: U32 | None = None
    device_id: DeviceId | None = None  # only remote connections send it


class HelloResult(Wire, frozen=True, kw_only=True):
    """Who answers."""

    daemon_id: DaemonId
    protocol: U32
    version: str
    capabilities: Capabilities = field(default_factory=Capabilities)
    paths: DaemonPaths
    challenge: str  # unpadded base64url; only remote devices use it
    prove: ProveFacts | None = None  # only on a remote connection
