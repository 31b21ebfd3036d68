"""What clients send and what the daemon answers."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.wire.errors import BadFrame, ErrorBody, ErrorCode
from efr.wire.frames import (
    MAX_MESSAGE,
    AckFrame,
    CancelFrame,
    EndFrame,
    ErrorFrame,
    ItemFrame,
    Request,
    ack_frame,
    cancel_frame,
    end_frame,
    error_frame,
    holds_more,
    item_frame,
    read_client_frame,
    read_server_frame,
    request_frame,
)
from efr.wire.framing import MAX_FRAME

CLIENT = [
    (b'{"id":7,"method":"hello","params":{}}', Request(7, "hello", {})),
    (b' {"params": {"a": [1]}, "x": 1, "method": "m", "id": 0}\n', Request(0, "m", {"a": [1]})),
    (b'{"id":18446744073709551615,"method":"m","params":{}}', Request(2**64 - 1, "m", {})),
    (b'{"cancel":7}', CancelFrame(7)),
    (b'{"cancel":7,"id":9,"params":[]}', CancelFrame(7)),
]

# Payload, and the id with which the refusal is answered.
BROKEN_CLIENT = [
    (b"", None),
    (b"nonsense", None),
    (b"\xff", None),
    (b"[]", None),
    (b"{}", None),
    (b'{"id":7,"method":"m","params":{}} {}', None),
    (b'{"method":"m","params":{}}', None),
    (b'{"id":-1,"method":"m","params":{}}', None),
    (b'{"id":1.0,"method":"m","params":{}}', None),
    (b'{"id":true,"method":"m","params":{}}', None),
    (b'{"id":"7","method":"m","params":{}}', None),
    (b'{"id":18446744073709551616,"method":"m","params":{}}', None),
    (b'{"id":7}', 7),
    (b'{"id":7,"method":"m"}', 7),
    (b'{"id":7,"method":"m","params":null}', 7),
    (b'{"id":7,"method":"m","params":[]}', 7),
    (b'{"id":7,"method":5,"params":{}}', 7),
    (b'{"id":7,"params":{}}', 7),
    (b'{"id":7,"cancel":8,"method":"m"}', 7),
    (b'{"id":7,"cancel":null}', 7),
    (b'{"id":7,"cancel":-8}', 7),
    (b'{"cancel":"8"}', None),
]

SERVER = [
    (item_frame(3, b'{"a":1}'), ItemFrame(3, {"a": 1})),
    (item_frame(3, b"null"), ItemFrame(3, None)),
    (end_frame(3), EndFrame(3)),
    (ack_frame(3), AckFrame(3)),
    (
        error_frame(3, ErrorBody(ErrorCode.BUSY, "later", {"retry": 1})),
        ErrorFrame(id=3, error=ErrorBody(ErrorCode.BUSY, "later", {"retry": 1})),
    ),
    (
        error_frame(None, ErrorBody(ErrorCode.INVALID, "no")),
        ErrorFrame(error=ErrorBody(ErrorCode.INVALID, "no")),
    ),
    (b'{"id":3,"end":true,"later":[1]}', EndFrame(3)),
]

BROKEN_SERVER = [
    (b'{"id":3}', 3),
    (b'{"id":3,"item":1,"end":true}', 3),
    (b'{"id":3,"end":false}', 3),
    (b'{"id":3,"end":1}', 3),
    (b'{"id":3,"end":"true"}', 3),
    (b'{"end":true}', None),
    (b'{"item":1}', None),
    (b'{"ack":null}', None),
    (b'{"id":3,"error":{"code":"new_code","message":"x"}}', 3),
    (b'{"id":3,"error":{"code":"busy"}}', 3),
    (b'{"id":"3","error":{"code":"busy","message":"x"}}', None),
    (b'{"id":18446744073709551616}', None),
    (b'{"id":18446744073709551616,"item":1}', None),
    (b'{"id":18446744073709551616,"end":true}', None),
    (b'{"ack":18446744073709551616}', None),
    (b"[]", None),
]


@pytest.mark.parametrize(("body", "frame"), CLIENT)
def test_a_client_frame_is_told_by_its_members(body: bytes, frame: Any) -> None:
    assert read_client_frame(body) == frame


@pytest.mark.parametrize(("body", "id"), BROKEN_CLIENT)
def test_a_broken_client_frame_names_its_request_where_it_can(body: bytes, id: int | None) -> None:
    with pytest.raises(BadFrame) as bad:
        read_client_frame(body)
    assert bad.value.id == id


@pytest.mark.parametrize(("body", "frame"), SERVER)
def test_a_server_frame_has_one_of_four_shapes(body: bytes, frame: Any) -> None:
    assert read_server_frame(body) == frame


@pytest.mark.parametrize(("body", "id"), BROKEN_SERVER)
def test_a_broken_server_frame_names_its_request_where_it_can(body: bytes, id: int | None) -> None:
    with pytest.raises(BadFrame) as bad:
        read_server_frame(body)
    assert bad.value.id == id


def test_frames_are_compact_and_in_order() -> None:
    assert [
        request_frame(1, "hello", b'{"protocol":1}'),
        cancel_frame(2),
        item_frame(3, b"[]"),
        end_frame(4),
        error_frame(5, ErrorBody(ErrorCode.NOT_FOUND, "no such turn")),
        error_frame(None, ErrorBody(ErrorCode.OVERFLOW, "slow", {"z": 1, "a": {"c": 1, "b": 2}})),
        ack_frame(6),
    ] == [
        b'{"id":1,"method":"hello","params":{"protocol":1}}',
        b'{"cancel":2}',
        b'{"id":3,"item":[]}',
        b'{"id":4,"end":true}',
        b'{"id":5,"error":{"code":"not_found","message":"no such turn"}}',
        b'{"error":{"code":"overflow","message":"slow","data":{"a":{"b":2,"c":1},"z":1}}}',
        b'{"ack":6}',
    ]


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_as_bad_frames(body: bytes) -> None:
    for read in (read_client_frame, read_server_frame):
        with suppress(BadFrame):
            read(body)


def asking(params: bytes) -> bytes:
    return b'{"id":7,"method":"models.list","params":{"a":%b}}' % params


@pytest.mark.parametrize(
    "params",
    [
        b"[%b]" % b",".join([b"[]"] * 60_000),
        b"[%b]" % b",".join([b"1"] * 100_001),
        b"[%b]" % b",".join([b'"x"'] * 100_001),
        b"[%b]" % b",".join([b"[" * 100 + b"]" * 100] * 1_000),
        b"{%b}" % b",".join(b'"%d":0' % number for number in range(100_001)),
        b'["\\\\",%b]' % b",".join([b'"\\\\"'] * 300_000),
    ],
)
def test_a_frame_of_too_many_values_is_refused_unread(params: bytes) -> None:
    with pytest.raises(BadFrame, match="at most 100000 values") as bad:
        read_client_frame(asking(params))
    assert bad.value.id is None


@pytest.mark.parametrize("text", ["[{,", '"[",', '\\"[{', "\\\\[", '"', "\\", "\n,{\t"])
def test_a_text_may_hold_as_much_as_it_likes(text: str) -> None:
    long = text * 150_000
    params = json.dumps([long, "[,", long]).encode()
    frame = read_client_frame(asking(params))
    assert isinstance(frame, Request)
    assert frame.params == {"a": [long, "[,", long]}


TEXTS = st.text(st.sampled_from('[{,"\\x\n'), max_size=4)
VALUES = st.recursive(
    TEXTS | st.integers(0, 9),
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=12,
)


@settings(max_examples=50, deadline=None)
@given(VALUES, st.integers(0, 25))
def test_what_a_body_holds_is_counted_right(value: Any, most: int) -> None:
    assert holds_more(json.dumps(value).encode(), most) is (starts(value) > most)


def starts(value: Any) -> int:
    """Objects and lists, and the commas between what they hold."""
    if isinstance(value, dict):
        return 1 + max(0, len(value) - 1) + sum(map(starts, value.values()))
    if isinstance(value, list):
        return 1 + max(0, len(value) - 1) + sum(map(starts, value))
    return 0


def test_an_error_is_always_a_frame() -> None:
    """Whatever it quotes: a text of 16 MiB, a path that is no Unicode, too large a value."""
    busy = ErrorCode.BUSY
    for message, data, said, kept in (
        ("x" * MAX_FRAME, None, "x" * MAX_MESSAGE + "…", None),
        ("\x01" * MAX_FRAME, None, "\x01" * MAX_MESSAGE + "…", None),
        ("no /tmp/\udcff", None, "no /tmp/?", None),
        ("no", {"value": "x" * MAX_FRAME}, "no", None),
        ("no", {"value": "/tmp/\udcff"}, "no", None),
        ("größe", {"b": 1, "a": ["x"]}, "größe", {"a": ["x"], "b": 1}),
    ):
        frame = error_frame(7, ErrorBody(busy, message, data))
        assert len(frame) <= MAX_FRAME
        assert read_server_frame(frame) == ErrorFrame(id=7, error=ErrorBody(busy, said, kept))
