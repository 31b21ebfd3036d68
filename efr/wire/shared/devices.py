"""Remote devices and their pairing (protocol: devices). The bytes they sign: `wire.devices`."""

from enum import StrEnum

from efr.wire.scalars import U16, U32, DaemonId, DeviceId, Time, Wire
from efr.wire.shared.connection import ScopeName


class QrPayload(Wire, frozen=True, kw_only=True):
    """What the QR code of a pairing holds.

    `efr.wire.devices.qr_url` builds its text.
    """

    v: U32  # 1
    d: DaemonId
    h: str  # the tailnet IPv4 address
    p: U16
    f: str | None = None  # the MagicDNS name, for display only
    t: str  # the token


class DeviceInfo(Wire, frozen=True):
    """An enrolled device."""

    device_id: DeviceId
    name: str
    key_fingerprint: str
    node: str  # stable id of its tailnet node
    scopes: tuple[ScopeName, ...]
    created_at: Time
    last_seen_at: Time | None = None
    revoked_at: Time | None = None


class PairEnd(StrEnum):
    """Why a pairing ended without a device. Open."""

    REFUSED = "refused"  # the user said no
    EXPIRED = "expired"  # nobody came or answered in time, or the phone went away
    ATTEMPTS = "attempts"  # too many wrong tokens
    UNKNOWN = "unknown"
