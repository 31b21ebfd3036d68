"""Methods of remote devices and their pairing (protocol: methods 43 to 48)."""

from typing import TypeAlias

from efr.wire.scalars import Bytes, DeviceId, PairingId, Params, Tagged, Time, Wire
from efr.wire.shared.connection import ScopeName
from efr.wire.shared.devices import DeviceInfo, PairEnd, QrPayload


class DevicePairStartParams(Params, frozen=True):
    """Open a pairing and follow it."""

    name: str | None = None  # of the device, when the user gave one


class PairStarted(Tagged, frozen=True, tag="started"):
    """The code to show."""

    pairing_id: PairingId
    expires_at: Time
    qr: QrPayload


class PairPending(Tagged, frozen=True, tag="pending"):
    """A phone enrolled; the user compares these facts."""

    pairing_id: PairingId
    device_name: str
    node_name: str  # of the phone in the tailnet
    user_login: str  # of the phone's user in the tailnet
    key_fingerprint: str
    os: str | None = None


class PairPaired(Tagged, frozen=True, tag="paired"):
    """The last item of a pairing that worked."""

    pairing_id: PairingId
    device_id: DeviceId


class PairEnded(Tagged, frozen=True, tag="ended"):
    """The last item of any other pairing."""

    pairing_id: PairingId
    reason: PairEnd


DevicePairStartItem: TypeAlias = PairStarted | PairPending | PairPaired | PairEnded


class DevicePairConfirmParams(Params, frozen=True):
    """Answer a pairing that waits."""

    pairing_id: PairingId
    accept: bool  # false ends the pairing with `refused`


class DevicePairConfirmResult(Wire, frozen=True):
    """The device; absent for a no."""

    device_id: DeviceId | None = None


class DeviceEnrollParams(Params, frozen=True):
    """Show a pairing's token and the phone's key."""

    token: str  # of the QR code
    name: str  # of the phone
    public_key: Bytes  # 65 bytes, a point of the P-256 curve

    def __repr__(self) -> str:
        return f"DeviceEnrollParams(name={self.name!r}, token=[redacted])"


class DeviceEnrollResult(Wire, frozen=True):
    """The phone is enrolled."""

    device_id: DeviceId
    scopes: tuple[ScopeName, ...]


class DeviceProveParams(Params, frozen=True):
    """Prove that this device holds its key."""

    device_id: DeviceId
    signature: Bytes  # ECDSA with SHA-256, in DER


class DeviceProveResult(Wire, frozen=True):
    """What the connection may do now."""

    scopes: tuple[ScopeName, ...]


class DeviceListParams(Params, frozen=True):
    """List every device, revoked ones too."""


class DeviceListResult(Wire, frozen=True):
    """Every device, revoked ones too."""

    devices: tuple[DeviceInfo, ...]


class DeviceRevokeParams(Params, frozen=True):
    """Lock a device out for good, and end its connections."""

    device_id: DeviceId


class DeviceRevokeResult(Wire, frozen=True):
    """When that was."""

    revoked_at: Time
