from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.providers.sse import EventTooLarge, ServerEvent, SseDecoder

CASES: list[tuple[bytes, list[ServerEvent]]] = [
    (b"data: one\n\n", [ServerEvent("message", "one")]),
    (b"event: x\ndata: one\ndata: two\n\n", [ServerEvent("x", "one\ntwo")]),
    (b"data:no space\n\n", [ServerEvent("message", "no space")]),
    (b"data:  two spaces\n\n", [ServerEvent("message", " two spaces")]),
    (b"data: a\r\n\r\ndata: b\r\r", [ServerEvent("message", "a"), ServerEvent("message", "b")]),
    (b": comment\nretry: 5\nid: 7\ndata: x\n\n", [ServerEvent("message", "x")]),
    (b"event: lost\n\ndata: x\n\n", [ServerEvent("message", "x")]),
    (b"data\n\n", [ServerEvent("message", "")]),
    (b"data: a\ndata:\n\n", [ServerEvent("message", "a\n")]),
    (b"\xef\xbb\xbfdata: bom\n\n", [ServerEvent("message", "bom")]),
    ("data: größe 🙂\n\n".encode(), [ServerEvent("message", "größe 🙂")]),
    (b"data: \xff\n\n", [ServerEvent("message", "\N{REPLACEMENT CHARACTER}")]),
    (b"data: whole\n\ndata: unfinished\n", [ServerEvent("message", "whole")]),
    (b"nonsense: x\n\n", []),
    (b"", []),
]


def read(chunks: list[bytes]) -> list[ServerEvent]:
    decoder = SseDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@pytest.mark.parametrize(("stream", "events"), CASES)
def test_streams_read_as_the_standard_says(stream: bytes, events: list[ServerEvent]) -> None:
    assert read([stream]) == events
    assert read([bytes([byte]) for byte in stream]) == events


@given(st.sampled_from(CASES), st.lists(st.integers(0, 80), max_size=6))
def test_any_split_gives_the_same_events(
    case: tuple[bytes, list[ServerEvent]], cuts: list[int]
) -> None:
    stream, events = case
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]

    assert read(chunks) == events


@pytest.mark.parametrize("chunks", [[b"data: 1234\n\n"], [b"data: 12", b"34"], [b"data: 12\n"] * 3])
def test_an_event_above_the_limit_is_refused(chunks: list[bytes]) -> None:
    decoder = SseDecoder(limit_bytes=9)
    with pytest.raises(EventTooLarge):
        list(map(decoder.feed, chunks))


def test_comments_without_end_do_not_fill_the_memory() -> None:
    decoder = SseDecoder(limit_bytes=20)

    for _ in range(100):
        assert decoder.feed(b": still here\n") == []
    assert decoder.feed(b"data: x\n\n") == [ServerEvent("message", "x")]
