"""How a member that is not there is written and read: the protocol's table of presence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import decode, encode
from efr.wire.errors import BadValue
from tests.wire.samples_shared import CONVERSATION, TURN

PLAIN: Any = object()

CELL = {"text": "a"}
BLOCKED = {"host": "h", "port": 1, "reason": "denied"}
HELLO = {"protocol": 1, "origin": "cli"}
KEY = {"provider": "p", "key": "k"}
QUEUED = {
    "kind": "prompt_queued",
    "turn_id": TURN,
    "command_id": TURN,
    "text": "x",
    "origin": "cli",
}

# Type, the object without the member, the member, its default on the wire (PLAIN: the member
# has no value then), another value, and whether the default is written.
MEMBERS = [
    ("O", t.Cell, CELL, "fg", PLAIN, {"indexed": 3}, False),
    ("F", t.Cell, CELL, "bold", False, True, False),
    ("L", t.LaunchContained, {"kind": "contained"}, "grants", [], [{"kind": "net_view"}], False),
    ("Z", t.ContextCache, {"calls": 1, "input_tokens": 2}, "cached_input_tokens", 0, 9, False),
    ("Z1", t.Blocked, BLOCKED, "count", 1, 0, False),
    ("D", t.FileChanges, {"files": [], "added": 0, "removed": 0}, "more", 0, 5, True),
    ("D", m.HelloParams, HELLO, "capabilities", {}, {"search": False}, True),
    ("D", m.AdminLoginApiKeyParams, KEY, "check", True, False, True),
    ("E", ev.PromptQueued, QUEUED, "settings", {}, {"mode": "auto"}, False),
]


def body(members: dict[str, Any]) -> bytes:
    return json.dumps(members).encode()


@pytest.mark.parametrize(
    ("presence", "kind", "without", "name", "default", "other", "written"), MEMBERS
)
def test_a_member_follows_its_presence(
    presence: str,
    kind: Any,
    without: dict[str, Any],
    name: str,
    default: Any,
    other: Any,
    written: bool,
) -> None:
    absent = decode(body(without), kind)
    assert (name in json.loads(encode(absent))) == written
    assert json.loads(encode(absent)) == (without | {name: default} if written else without)

    if default is not PLAIN:
        explicit = decode(body(without | {name: default}), kind)
        assert explicit == absent
        assert encode(explicit) == encode(absent)

    changed = decode(body(without | {name: other}), kind)
    assert json.loads(encode(changed)) == without | {name: other}

    null = body(without | {name: None})
    if presence == "O":
        assert decode(null, kind) == absent
    else:
        with pytest.raises(BadValue) as bad:
            decode(null, kind)
        assert bad.value.where == f"$.{name}"


def test_a_required_member_is_neither_absent_nor_null() -> None:
    for broken in (b"{}", b'{"tokens":1,"limit":null,"window":2}'):
        with pytest.raises(BadValue):
            decode(broken, t.ContextUse)


def test_an_optional_false_is_written() -> None:
    facts = t.ExitFacts(snapshot_covers=False)
    assert encode(facts) == b'{"snapshot_covers":false,"refusals_in_a_row":0}'
    assert encode(t.Capabilities(admin=False)) == b'{"admin":false}'


def test_an_object_of_defaults_is_empty() -> None:
    assert encode(t.UndoSummary()) == b"{}"
    assert encode(m.ModelsListParams()) == b"{}"
    assert decode(b"{}", t.UndoSummary) == t.UndoSummary()


def test_free_json_may_be_null_where_it_is_required() -> None:
    started = ev.ToolCallStarted(turn_id=TURN, call_id=TURN, tool="x", input=None)
    assert b'"input":null' in encode(started)
    assert decode(encode(started), ev.ToolCallStarted) == started
    with pytest.raises(BadValue):
        decode(encode(started).replace(b',"input":null', b""), ev.ToolCallStarted)


def test_an_envelope_has_an_event() -> None:
    for event in ("", ',"event":null', ',"event":[]', ',"event":{}', ',"event":{"kind":1}'):
        broken = f'{{"seq":1,"at":"2026-10-03T12:00:00Z"{event}}}'.encode()
        with pytest.raises(BadValue):
            decode(broken, ev.EventEnvelope)


def test_the_data_of_an_error_has_its_keys_sorted() -> None:
    error = decode(b'{"code":"busy","message":"m","data":{"b":[{"z":1,"a":2}],"a":1}}', t.ErrorBody)
    assert encode(error).endswith(b'"data":{"a":1,"b":[{"a":2,"z":1}]}}')
    assert decode(b'{"code":"busy","message":"m","data":null}', t.ErrorBody).data is None


def test_the_input_of_a_call_keeps_its_order() -> None:
    started = f'{{"kind":"tool_call_started","turn_id":"{TURN}","call_id":"{TURN}","tool":"x",'
    whole = f'{started}"input":{{"z":1.5,"a":{{"y":[],"b":null}}}}}}'.encode()
    assert encode(decode(whole, ev.ToolCallStarted)) == whole


def test_a_name_that_python_reserves_is_written_without_its_underscore() -> None:
    ref = t.UndoRef(root="/", name="main", from_="a", to="b")
    assert encode(ref) == b'{"root":"/","name":"main","from":"a","to":"b"}'
    assert decode(b'{"root":"/","name":"main","from":"a","from_":"z"}', t.UndoRef).from_ == "a"


def test_a_colour_has_exactly_one_key() -> None:
    for one in (b'{"indexed":0}', b'{"rgb":[1,2,3]}'):
        assert encode(decode(b'{"text":"","fg":%b}' % one, t.Cell)) == b'{"text":"","fg":%b}' % one
    for broken in (
        b"{}",
        b'{"hue":1}',
        b'{"indexed":null}',
        b'{"rgb":[1,2]}',
        b'{"rgb":[1,2,3,4]}',
        b'{"indexed":1,"rgb":[1,2,3]}',
        b'{"indexed":1,"rgb":null}',
        b'{"indexed":1,"hue":2}',
    ):
        with pytest.raises(BadValue):
            decode(b'{"text":"","fg":%b}' % broken, t.Cell)


def test_secrets_stay_out_of_a_repr() -> None:
    typed = m.InputRespondParams(
        conversation_id=CONVERSATION, call_id=TURN, text="hunter2", hidden=True
    )
    key = m.AdminLoginApiKeyParams(provider="openai-api", key="sk-hunter2")
    enrolled = m.DeviceEnrollParams(token="hunter2", name="phone", public_key=b"")
    keys = m.PtyWriteParams(pty_id=TURN, data=b"hunter2")
    held = [typed, key, enrolled, keys]
    assert "hunter2" not in f"{typed} {typed!r} {key} {key!r} {keys!r} {held}"
    assert b"hunter2" in encode(typed)
