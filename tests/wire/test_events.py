"""Events as the log stores them and as they travel."""

from __future__ import annotations

import json
from typing import Any

import pytest

from efr.wire import events as ev
from efr.wire.codec import decode, encode, from_builtins
from efr.wire.errors import BadValue
from efr.wire.event.kinds import KINDS, OF_DAEMON, event_class
from tests.wire.samples_events import EVENTS
from tests.wire.samples_shared import CONVERSATION, ENVELOPE_AT, TURN

FUTURE = b'{"kind":"moon_rose","turn_id":"%b","z":1.5,"a":{"kind":"x"}}' % TURN.encode()

# Which events belong to a turn, of those whose kind does not say so by its base.
OF_NO_TURN = {
    "conversation_created", "conversation_deleted", "terminal_attached", "presence_changed",
    "sandbox_unavailable", "undo_applied", "job_watch_matched", "job_ended", "job_notice_held",
    "job_port_forwarded", "shell_started", "shell_exited", "cwd_changed",
    "shell_command_detached", "shell_command_input_changed", "shell_command_ended",
    "login_completed", "logout_completed",
}  # fmt: skip


def test_the_table_of_kinds_is_the_union_of_events() -> None:
    assert len(KINDS) == 55
    assert {kind: event_class(kind) for kind in KINDS} == ev.EVENTS
    assert list(KINDS) == list(ev.EVENTS)
    assert event_class("unknown") is None


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_an_event_survives_the_log(name: str) -> None:
    event = EVENTS[name]
    stored = ev.encode_event(event)

    assert ev.decode_event(ev.kind_of(event), stored) == event
    assert ev.encode_event(ev.decode_event(ev.kind_of(event), stored)) == stored
    assert json.loads(stored)["kind"] == ev.kind_of(event)


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_an_envelope_is_spliced_as_it_would_be_written(name: str) -> None:
    stored = ev.encode_event(EVENTS[name])
    for conversation in (CONVERSATION, None):
        spliced = ev.envelope_bytes(7, conversation, ENVELOPE_AT, stored)
        envelope = decode(spliced, ev.EventEnvelope)

        assert encode(envelope) == spliced
        assert (envelope.seq, envelope.conversation_id) == (7, conversation)
        assert envelope.event == EVENTS[name]


def test_an_envelope_becomes_an_item_of_a_subscription() -> None:
    envelope = ev.envelope_bytes(7, CONVERSATION, ENVELOPE_AT, FUTURE)
    item = ev.event_item_bytes(envelope)
    assert json.loads(item) == {"kind": "event", **json.loads(envelope)}
    assert list(json.loads(item))[:2] == ["kind", "seq"]


def test_an_event_knows_its_turn() -> None:
    without = {ev.kind_of(event) for event in EVENTS.values() if ev.turn_of(event) is None}
    assert without == OF_NO_TURN | {"moon_rose"}
    manual: dict[str, Any] = json.loads(ev.encode_event(EVENTS["conversation_compacted"]))
    del manual["turn_id"]
    compacted = ev.decode_event("conversation_compacted", json.dumps(manual).encode())
    assert ev.turn_of(compacted) is None


def test_an_unknown_kind_keeps_every_member_and_belongs_to_no_turn() -> None:
    event = ev.decode_event("moon_rose", FUTURE)

    assert isinstance(event, ev.UnknownEvent)
    assert (ev.kind_of(event), ev.turn_of(event)) == ("moon_rose", None)
    assert ev.encode_event(event) == FUTURE


def test_the_kind_of_an_unknown_event_is_written_first_and_once() -> None:
    late_kind = b'{"b":1,"kind":"moon_rose","a":2}'
    assert encode(ev.decode_event("moon_rose", late_kind)) == b'{"kind":"moon_rose","b":1,"a":2}'
    twice = ev.UnknownEvent("moon_rose", {"a": 1, "kind": "sun_rose"})
    assert encode(twice) == b'{"kind":"moon_rose","a":1}'


def test_unknown_is_a_kind_like_any_other() -> None:
    event = ev.decode_event("unknown", b'{"kind":"unknown","a":1}')
    assert event == ev.UnknownEvent("unknown", {"a": 1})


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("turn_steered", b'{"kind":"turn_steered","turn_id":"%b"}' % TURN.encode()),
        ("turn_steered", b'{"kind":"turn_steered","turn_id":"x","text":"y"}'),
        ("turn_steered", b'{"kind":"moon_rose"}'),
        ("moon_rose", b'{"a":1}'),
        ("moon_rose", b'{"kind":1}'),
        ("moon_rose", b'["moon_rose"]'),
        ("moon_rose", b"null"),
        ("moon_rose", b"{"),
    ],
)
def test_a_broken_event_is_an_error_and_never_an_unknown_one(kind: str, body: bytes) -> None:
    with pytest.raises(BadValue):
        ev.decode_event(kind, body)


def test_events_of_the_daemon_name_neither_a_turn_nor_a_conversation() -> None:
    for kind in OF_DAEMON:
        members = ev.EVENTS[kind].__struct_fields__
        assert not {"turn_id", "conversation_id"} & set(members)
    assert len(OF_DAEMON) == 3


def test_the_union_of_all_events_is_read_as_an_event_is() -> None:
    later = {"kind": "later", "turn_id": "x", "z": 1}
    assert from_builtins(later, ev.Event) == ev.UnknownEvent("later", {"turn_id": "x", "z": 1})
    with pytest.raises(BadValue) as bad:
        from_builtins({"turn_id": "x"}, ev.Event)
    assert bad.value.where == "$.kind"
