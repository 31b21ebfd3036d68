"""The reader rules for JSON, each held against the libraries as they are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import (
    MAX_DEPTH,
    decode,
    encode,
    from_builtins,
    pretty,
    read_json,
    read_own_json,
    to_builtins,
)
from efr.wire.errors import BadValue
from tests.wire.samples_shared import TURN

REFUSED = [
    b"",
    b" ",
    b"{",
    b"{}{}",
    b"{} x",
    b"[1,]",
    b'{"a":1,}',
    b"// comment\n{}",
    b"NaN",
    b"[Infinity]",
    b"[-Infinity]",
    b"01",
    b"+1",
    b"1e400",
    b"'a'",
    b'"\n"',
    b'"\\x41"',
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\xed\xa0\x80"',
    b'"\xff"',
    b"\xef\xbb\xbf{}",
    b"\xff\xfe{\x00}\x00",
]

# Body, type, and where it is refused.
MISFITS = [
    (b'{"cols":1.0,"rows":2}', t.Size, "$.cols"),
    (b'{"cols":1e0,"rows":2}', t.Size, "$.cols"),
    (b'{"cols":"1","rows":2}', t.Size, "$.cols"),
    (b'{"cols":true,"rows":2}', t.Size, "$.cols"),
    (b'{"cols":65536,"rows":2}', t.Size, "$.cols"),
    (b'{"cols":-1,"rows":2}', t.Size, "$.cols"),
    (b'{"cols":null,"rows":2}', t.Size, "$.cols"),
    (b'{"cols":1}', t.Size, "$"),
    (b"[1,2]", t.Size, "$"),
    (b"null", t.Size, "$"),
    (b'{"text":"a","bold":1}', t.Cell, "$.bold"),
    (b'{"text":"a","bold":"true"}', t.Cell, "$.bold"),
    (b'{"text":"a","fg":{"indexed":256}}', t.Cell, "$.fg.indexed"),
    (b'{"exit_code":2147483648,"pty_id":"%b"}' % TURN.encode(), ev.ShellExited, "$.exit_code"),
    (b'{"exit_code":-2147483649,"pty_id":"%b"}' % TURN.encode(), ev.ShellExited, "$.exit_code"),
    (b'{"tokens":18446744073709551616,"limit":1,"window":1}', t.ContextUse, "$.tokens"),
    (b'{"tokens":-1,"limit":1,"window":1}', t.ContextUse, "$.tokens"),
    (b'{"call":4294967296,"tool":"x","bytes":1}', t.DraftToolInput, "$.call"),
    (b'{"refusals_in_a_row":256}', t.ExitFacts, "$.refusals_in_a_row"),
    (b'{"files":{"0":1}}', t.FileChanges, "$.files"),
    (b'{"previous_exits_this_turn":[["host"]]}', t.ExitFacts, "$.previous_exits_this_turn[0]"),
    (
        b'{"previous_exits_this_turn":[["host","deny"],["host","maybe"]]}',
        t.ExitFacts,
        "$.previous_exits_this_turn[1][1]",
    ),
    (b'{"pty_id":"%b","data":"QQ"}' % TURN.encode(), m.PtyWriteParams, "$.data"),
    (b'{"pty_id":"%b","data":"QR=="}' % TURN.encode(), m.PtyWriteParams, "$.data"),
    (b'{"pty_id":"%b","data":"QQ==\\n"}' % TURN.encode(), m.PtyWriteParams, "$.data"),
    (b'{"pty_id":"%b","data":"-_8="}' % TURN.encode(), m.PtyWriteParams, "$.data"),
    (b'{"pty_id":"%b","data":7}' % TURN.encode(), m.PtyWriteParams, "$.data"),
    (b'{"pty_id":"x","data":""}', m.PtyWriteParams, "$.pty_id"),
    (b'{"conversations":["%b","x"],"visible":true}' % TURN.encode(), m.LeaseReportParams,
     "$.conversations[1]"),
]  # fmt: skip


def nested(levels: int) -> bytes:
    return b'{"a":' * (levels - 1) + b"[]" + b"}" * (levels - 1)


@pytest.mark.parametrize("body", REFUSED)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    for read in (read_json, read_own_json):
        with pytest.raises(BadValue):
            read(body)


@pytest.mark.parametrize(("body", "kind", "where"), MISFITS)
def test_a_misfit_is_refused_with_its_path(body: bytes, kind: Any, where: str) -> None:
    with pytest.raises(BadValue) as bad:
        decode(body, kind)
    assert bad.value.where == where


def test_the_last_of_two_equal_keys_counts() -> None:
    assert decode(b'{"cols":"x","rows":2,"cols":1}', t.Size) == t.Size(1, 2)


def test_white_space_and_order_do_not_matter() -> None:
    assert decode(b' \t\r\n{ "rows" : 2 ,\n"cols":1 } ', t.Size) == t.Size(1, 2)


def test_unknown_members_are_ignored_and_not_kept() -> None:
    body = b'{"later":{"deep":[1]},"cols":1,"rows":2,"kind":"x"}'
    assert encode(decode(body, t.Size)) == b'{"cols":1,"rows":2}'


def test_the_largest_integers_fit() -> None:
    body = b'{"tokens":18446744073709551615,"limit":0,"window":1}'
    assert encode(decode(body, t.ContextUse)) == body


def test_nesting_has_its_limit() -> None:
    assert read_json(nested(MAX_DEPTH)) is not None
    with pytest.raises(BadValue, match="nested"):
        read_json(nested(MAX_DEPTH + 1))
    for read in (read_json, read_own_json):
        with pytest.raises(BadValue, match="nested"):
            read(nested(MAX_DEPTH + 1))
        for bomb in (b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000):
            with pytest.raises(BadValue):
                read(bomb)


def test_brackets_beside_each_other_are_not_nesting() -> None:
    assert read_json(b"[" + b",".join([b"[{}]"] * 500) + b"]") is not None
    assert read_json(b'"' + b"[{" * 500 + b'"') == "[{" * 500


def test_bytes_are_standard_base64() -> None:
    output = m.PtyOutput(seq=0, data=b"\xfb\xff\x00")
    assert encode(output) == b'{"kind":"output","seq":0,"data":"+/8A"}'
    assert decode(encode(output), m.PtyAttachItem) == output
    assert encode(m.PtyOutput(seq=0, data=b"")) == b'{"kind":"output","seq":0,"data":""}'


def test_text_that_is_no_unicode_cannot_be_written() -> None:
    for value in (t.ScopePath("/tmp/\udcff"), {"\udcff": 1}, ["\ud800"]):
        with pytest.raises(BadValue):
            encode(value)


def test_what_is_no_wire_value_cannot_be_written() -> None:
    for value in (object(), {"a": [object()]}, {(): 1}):
        with pytest.raises(BadValue):
            encode(value)


def test_a_type_that_may_be_none_is_read_as_any_other() -> None:
    size = {"cols": 1, "rows": 2}
    assert from_builtins(size, t.Size | None) == t.Size(1, 2)
    assert from_builtins(None, t.Size | None) is None
    assert from_builtins({"kind": "direct"}, t.Launch | None) == t.LaunchDirect()
    assert from_builtins(TURN.upper(), t.TurnId | None) == TURN
    assert from_builtins({"kind": "later"}, t.RouteScope | None) == t.RouteUnknown()
    for kind in (t.Size, t.Launch, t.TurnId):
        assert from_builtins(None, kind | None) is None
        with pytest.raises(BadValue) as bad:
            from_builtins([size], kind | None)
        assert bad.value.where == "$"
    with pytest.raises(BadValue) as bad:
        from_builtins({**size, "rows": -1}, t.Size | None)
    assert bad.value.where == "$.rows"


def test_plain_values_stay_as_they_are() -> None:
    plain = {"kind": "event", "seq": 1, "at": "2026-10-03T14:00:00+02:00", "event": {"kind": "x"}}
    before = json.dumps(plain)
    item = from_builtins(plain, m.ConversationSubscribeItem)

    assert json.dumps(plain) == before
    assert to_builtins(item) == {**plain, "at": "2026-10-03T12:00:00Z"}
    assert list(to_builtins(item)) == ["kind", "seq", "at", "event"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)


@given(json_values)
def test_the_form_of_a_fixture_is_that_of_python(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    assert pretty(value) == text.encode()
    assert read_json(pretty(value)) == value


def test_a_fault_has_a_cause_that_ends() -> None:
    with pytest.raises(BadValue) as caught:
        decode(b'{"pty_id":"%b","data":"!"}' % TURN.encode(), m.PtyWriteParams)
    seen: set[int] = set()
    fault: BaseException | None = caught.value
    while fault is not None:
        assert id(fault) not in seen
        seen.add(id(fault))
        fault = fault.__cause__
