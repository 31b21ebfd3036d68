"""Properties of the codec over arbitrary values and arbitrary bytes."""

from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import Struct

from efr.wire import events as ev
from efr.wire import frames
from efr.wire.codec import decode, encode, from_builtins, pretty, to_builtins
from efr.wire.errors import BadFrame, BadValue
from efr.wire.event.base import OfTurn, Recorded, UnknownEvent
from efr.wire.event.union import EVENTS
from efr.wire.fixtures import read
from efr.wire.hints import is_struct
from efr.wire.scalars import Params, Tagged, Wire
from efr.wire.schema import document
from efr.wire.table import METHODS
from tests.wire.samples import files
from tests.wire.strategies import FREE, declared_types, values_of

FILES: Final = files()
DOCUMENT: Final = document()
TYPES: Final = [kind for method in METHODS.values() for kind in (method.params, method.result)]
EVERY: Final = sorted(declared_types(), key=repr)
PARTS: Final = 16
EXAMPLES: Final = settings(max_examples=60, deadline=None)


def below(kind: type[Struct]) -> set[type[Struct]]:
    return {kind}.union(*map(below, kind.__subclasses__()))


def test_no_declared_type_is_missed() -> None:
    product = {kind for kind in below(Wire) if kind.__module__.startswith("efr.")}
    bases = {Wire, Tagged, Params, Recorded, OfTurn}
    assert product - bases == {kind for kind in EVERY if is_struct(kind)}
    assert {*EVENTS.values(), *TYPES} < set(EVERY)


@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_any_value_of_any_type_survives(part: int, data: st.DataObject) -> None:
    for kind in EVERY[part::PARTS]:
        if kind is UnknownEvent:
            continue  # no type of its own: the readers of events make it, below
        value = data.draw(values_of(kind))
        body = encode(value)
        again = decode(body, kind)
        assert again == value
        assert type(again) is type(value)
        assert encode(again) == body
        assert decode(pretty(value), kind) == value


@EXAMPLES
@given(values_of(frames.ClientFrame) | values_of(frames.ServerFrame))
def test_any_frame_survives(frame: Any) -> None:
    asked = isinstance(frame, frames.Request | frames.CancelFrame)
    reader: Any = frames.read_client_frame if asked else frames.read_server_frame
    body = encode(frame)
    assert (reader(body), encode(reader(body))) == (frame, body)


@EXAMPLES
@given(st.data())
def test_any_params_survive(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(METHODS)))
    params = data.draw(values_of(METHODS[name].params))
    request = frames.read_client_frame(frames.request_frame(7, name, encode(params)))
    assert isinstance(request, frames.Request)
    assert from_builtins(request.params, METHODS[name].params) == params
    schema_of(name, "params").validate(request.params)


def schema_of(method: str, what: str) -> Draft202012Validator:
    part = DOCUMENT["properties"]["methods"]["properties"][method]["properties"][what]
    return Draft202012Validator({"$defs": DOCUMENT["$defs"], **part})


@EXAMPLES
@given(st.data())
def test_what_is_written_reads_as_the_same_value(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(METHODS)))
    method = METHODS[name]
    what = "item" if method.stream else "result"
    value = data.draw(values_of(method.result))
    body = encode(value)

    again = decode(body, method.result)
    assert again == value
    assert encode(again) == encode(value) == body
    assert decode(pretty(value), method.result) == value
    schema_of(name, what).validate(to_builtins(value))


@EXAMPLES
@given(st.data())
def test_events_survive_the_log_and_the_wire(data: st.DataObject) -> None:
    envelope = data.draw(values_of(ev.EventEnvelope))
    stored = ev.encode_event(envelope.event)

    assert ev.decode_event(ev.kind_of(envelope.event), stored) == envelope.event
    spliced = ev.envelope_bytes(envelope.seq, envelope.conversation_id, envelope.at, stored)
    assert spliced == encode(envelope)
    assert decode(spliced, ev.EventEnvelope) == envelope


@given(st.binary(max_size=80), st.sampled_from(TYPES))
def test_arbitrary_bytes_are_bad_values(body: bytes, kind: Any) -> None:
    with suppress(BadValue):
        decode(body, kind)


@given(FREE, st.sampled_from(TYPES))
def test_arbitrary_json_is_a_bad_value(value: Any, kind: Any) -> None:
    with suppress(BadValue):
        from_builtins(value, kind)


@pytest.mark.parametrize("name", sorted(FILES))
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_broken_fixture_is_refused_or_reads_the_same_again(
    name: str, data: st.DataObject
) -> None:
    plain = json.loads(FILES[name])
    broken = json.dumps(data.draw(damaged(plain))).encode()
    with suppress(BadValue, BadFrame):
        once = pretty(read(name, broken))
        assert pretty(read(name, once)) == once


@st.composite
def damaged(draw: st.DrawFn, value: Any) -> Any:
    """The value with one part of it replaced or taken out."""
    value = copy.deepcopy(value)
    if not isinstance(value, (dict, list)) or not value or draw(st.integers(0, 4)) == 0:
        return draw(FREE)
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = draw(st.sampled_from(keys))
    if draw(st.integers(0, 3)) == 0:
        del value[key]
    else:
        value[key] = draw(damaged(value[key]))
    return value
