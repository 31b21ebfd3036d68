"""What a remote device signs, shows and scans. Pure; any thread.

Facts: protocol, remote devices. The vectors are fixtures/v1/device_prove_message.json and
fixtures/v1/pairing_qr_url.json. Signing and checking are `efr.remote`.
"""

from __future__ import annotations

from hashlib import sha256
from urllib.parse import quote

from efr.wire.shared.devices import QrPayload

PROVE_TAG = "efr-device-prove-v1"


def prove_message(
    *,
    challenge: str,
    daemon_id: str,
    protocol: int,
    device_id: str,
    peer_node: str,
    daemon_tailnet: str,
) -> bytes:
    """The bytes that a device signs: seven fields, each behind its length in 4 bytes."""
    fields = (PROVE_TAG, challenge, daemon_id, str(protocol), device_id, peer_node, daemon_tailnet)
    texts = [field.encode() for field in fields]
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


def key_fingerprint(public_key: bytes) -> str:
    """What a person compares: the start of the SHA-256 of the 65 key bytes."""
    return f"SHA256:{sha256(public_key).hexdigest()[:16]}"


def qr_url(payload: QrPayload) -> str:
    """The text of a pairing's QR code."""
    members = (
        ("v", str(payload.v)),
        ("d", payload.d),
        ("h", payload.h),
        ("p", str(payload.p)),
        ("f", payload.f),
        ("t", payload.t),
    )
    # quote() keeps letters, digits and `-._~`, which is exactly the protocol's set.
    query = "&".join(f"{key}={quote(text, safe='')}" for key, text in members if text is not None)
    return f"efr://pair?{query}"
