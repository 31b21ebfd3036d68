"""Recorded answers read the same whole, byte by byte and in any split; cut ones never as whole."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from efr.providers.canonical import Done, decode_event, fold
from efr.providers.errors import Incomplete, InvalidStream
from tests.providers.recorded import NAMES, expected, read, stream, transcript

EVENT_END = re.compile(rb"(?:\r\n|\n){2}")


def test_every_shape_has_recordings() -> None:
    assert {name.partition("-")[0] for name in NAMES} == {"responses", "messages", "chat"}


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_recording_reads_as_written_down(name: str) -> None:
    events = read(name, [stream(name)])

    assert transcript(events) == expected(name)
    assert [decode_event(line) for line in expected(name).splitlines()] == events
    fold(events)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_reads_the_same_byte_by_byte(name: str) -> None:
    assert transcript(read(name, (bytes([b]) for b in stream(name)))) == expected(name)


@given(cuts=st.lists(st.integers(0, 10_000), max_size=8))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.parametrize("name", NAMES)
def test_a_recording_reads_the_same_in_any_split(name: str, cuts: list[int]) -> None:
    whole = stream(name)
    places = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    chunks = [whole[a:b] for a, b in itertools.pairwise(places)]

    assert transcript(read(name, chunks)) == expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_that_is_cut_at_an_event_is_incomplete_or_whole_never_else(name: str) -> None:
    """No cut gives a call that the whole answer does not have, and no end but the true one."""
    whole = stream(name)
    true_end = decode_event(expected(name).splitlines()[-1])
    ends = [found.end() for found in EVENT_END.finditer(whole)]
    for end in [0, *ends[:-1]]:
        try:
            events = read(name, [whole[:end]])
        except (Incomplete, InvalidStream):
            continue
        assert isinstance(true_end, Done)
        folded = fold(events)
        assert folded.stop_reason == true_end.stop_reason  # only usage or [DONE] was missing
