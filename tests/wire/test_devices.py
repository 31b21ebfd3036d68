"""What a remote device signs, shows and scans."""

from __future__ import annotations

from efr.wire import types as t
from efr.wire.devices import PROVE_TAG, key_fingerprint, prove_message, qr_url

DAEMON = "019a9b1c-3d00-7a10-8b20-000000000007"
DEVICE = "019a9b1c-3d00-7a10-8b20-000000000006"


def test_the_signed_message_is_seven_fields_behind_their_lengths() -> None:
    message = prove_message(
        challenge="3q2-7w",
        daemon_id=DAEMON,
        protocol=1,
        device_id=DEVICE,
        peer_node="größe",
        daemon_tailnet="",
    )
    fields = []
    while message:
        length = int.from_bytes(message[:4], "big")
        fields.append(message[4 : 4 + length].decode())
        message = message[4 + length :]
    assert fields == [PROVE_TAG, "3q2-7w", DAEMON, "1", DEVICE, "größe", ""]


def test_a_message_starts_with_its_tag() -> None:
    message = prove_message(
        challenge="", daemon_id="", protocol=1, device_id="", peer_node="", daemon_tailnet=""
    )
    assert message == b"\x00\x00\x00\x13efr-device-prove-v1" + bytes(8) + b"\x00\x00\x00\x011" + (
        bytes(12)
    )


def test_the_fingerprint_of_the_protocol_documents_key() -> None:
    assert key_fingerprint(bytes([4, *range(1, 0x41)])) == "SHA256:0ed3a6ab957ff6f5"


def test_a_qr_code_holds_its_members_in_order() -> None:
    payload = t.QrPayload(v=1, d=DAEMON, h="100.64.0.1", p=80, f="a.ts.net", t="A-Z_a~z.09")
    assert qr_url(payload) == (
        f"efr://pair?v=1&d={DAEMON}&h=100.64.0.1&p=80&f=a.ts.net&t=A-Z_a~z.09"
    )


def test_a_qr_code_leaves_out_a_name_that_is_not_there() -> None:
    payload = t.QrPayload(v=1, d=DAEMON, h="100.64.0.1", p=80, t="x")
    assert qr_url(payload) == f"efr://pair?v=1&d={DAEMON}&h=100.64.0.1&p=80&t=x"


def test_every_other_byte_of_a_qr_code_is_percent_encoded() -> None:
    payload = t.QrPayload(v=1, d="", h="", p=0, f="é /:+&=%*\x00🙂", t="")
    assert "f=%C3%A9%20%2F%3A%2B%26%3D%25%2A%00%F0%9F%99%82&" in qr_url(payload)
