"""Frames on a byte stream, however it is cut."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.wire.errors import FrameTooLarge, TornFrame
from efr.wire.framing import MAX_FRAME, FrameReader, pack

PAYLOADS = st.lists(st.binary(max_size=300), max_size=8)
TOO_LONG = (MAX_FRAME + 1).to_bytes(4, "big")


@given(PAYLOADS)
def test_frames_come_out_as_they_went_in_when_fed_whole(payloads: list[bytes]) -> None:
    reader = FrameReader()

    assert reader.feed(b"".join(map(pack, payloads))) == payloads
    reader.eof()


@given(PAYLOADS)
def test_frames_come_out_as_they_went_in_when_fed_byte_by_byte(payloads: list[bytes]) -> None:
    reader = FrameReader()
    stream = b"".join(map(pack, payloads))

    assert [frame for byte in stream for frame in reader.feed(bytes([byte]))] == payloads
    reader.eof()


@given(PAYLOADS, st.binary(min_size=1, max_size=300), st.data())
def test_a_tail_waits_for_its_rest(payloads: list[bytes], last: bytes, data: st.DataObject) -> None:
    reader = FrameReader()
    whole = pack(last)
    cut = data.draw(st.integers(1, len(whole) - 1))

    assert reader.feed(b"".join(map(pack, payloads)) + whole[:cut]) == payloads
    with pytest.raises(TornFrame):
        reader.eof()
    assert reader.feed(whole[cut:]) == [last]
    reader.eof()


@given(st.lists(st.binary(max_size=64)))
def test_arbitrary_bytes_raise_nothing_but_the_declared_errors(chunks: list[bytes]) -> None:
    reader = FrameReader()
    with suppress(FrameTooLarge, TornFrame):
        for chunk in chunks:
            reader.feed(chunk)
        reader.eof()


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_a_torn_prefix_is_a_torn_frame(cut: int) -> None:
    reader = FrameReader()
    reader.feed(pack(b"{}")[:cut])
    with pytest.raises(TornFrame) as torn:
        reader.eof()
    assert torn.value.missing == 4 - cut


def test_a_torn_body_says_how_much_is_missing() -> None:
    reader = FrameReader()
    reader.feed(pack(b"12345")[:-2])
    with pytest.raises(TornFrame) as torn:
        reader.eof()
    assert torn.value.missing == 2


def test_the_longest_payload_is_valid() -> None:
    body = bytes(MAX_FRAME)
    assert FrameReader().feed(pack(body)) == [body]


def test_an_empty_payload_is_a_frame() -> None:
    assert FrameReader().feed(bytes(4)) == [b""]


def test_a_length_above_the_limit_is_refused_with_its_prefix_alone() -> None:
    reader = FrameReader()
    assert reader.feed(TOO_LONG[:3]) == []
    with pytest.raises(FrameTooLarge) as large:
        reader.feed(TOO_LONG[3:])
    assert (large.value.length, large.value.frames) == (MAX_FRAME + 1, [])


def test_complete_frames_before_a_too_long_one_are_delivered() -> None:
    with pytest.raises(FrameTooLarge) as large:
        FrameReader().feed(pack(b"one") + pack(b"two") + TOO_LONG + b"rest")
    assert large.value.frames == [b"one", b"two"]


def test_a_writer_refuses_a_payload_above_the_limit() -> None:
    with pytest.raises(FrameTooLarge):
        pack(bytes(MAX_FRAME + 1))
