"""Values of a newer version: which a reader takes as unknown, and which it refuses."""

from __future__ import annotations

import json
from enum import EnumType
from typing import Any, Final, get_args

import pytest

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import decode, encode
from efr.wire.errors import BadValue
from efr.wire.shared.exits import ExitInfo
from tests.wire.samples_shared import CALL, COMMAND, CONVERSATION, TURN

OPEN: Final = {
    "AttachHow", "BlockReason", "BusProxyOff", "NotSavedReason", "JobState", "JobStopBy",
    "NoticeKind", "HeldReason", "ForwardOutcome", "ShellCommandEnd", "ApprovedBy", "SearchKind",
    "SearchPartial", "PairEnd", "UndoReason", "ContextPartKind", "StopReason", "FullRefusal",
    "Presence", "PresenceSource", "ChainStep", "PauseReason", "UndoAction", "SnapshotPhase",
}  # fmt: skip
CLOSED: Final = {
    "ErrorCode", "ScopeName", "Origin", "Mode", "ExitKind", "ExitSource", "Verdict", "Risk",
    "UserAuthorization", "JudgeKind", "ApprovalDecision", "PathClass", "BusKind", "DesktopKind",
    "CacheMode", "NetworkMode", "CheckOutcome", "SandboxPathRole", "InputWait",
    "ConversationStatus", "ChangeKind", "CompactionTrigger", "ModelSource", "CatalogOrigin",
    "LoginKind", "RootSource",
}  # fmt: skip
OPEN_UNIONS: Final = {
    "Grant", "RouteScope", "AlwaysOutcome", "UndoRefusal", "RouteSwitch", "NewReason", "RepoHint",
    "CallBackgroundResult", "ConversationResumeResult", "ConversationDeleteResult",
}  # fmt: skip
CLOSED_UNIONS: Final = {
    "Scope", "Launch", "WithdrawTarget", "DraftPart", "ConversationSubscribeItem",
    "ConversationsWatchItem", "PtyAttachItem", "AdminLoginOpenaiItem", "DevicePairStartItem",
}  # fmt: skip

DECLARED: Final[dict[str, Any]] = {
    name: getattr(module, name)
    for module in (t, m)
    for names in module.HOMES.values()
    for name in names
}
ENUMS: Final = {name: kind for name, kind in DECLARED.items() if isinstance(kind, EnumType)}


def unions() -> dict[str, Any]:
    """Unions of tagged types, by name."""
    return {name: kind for name, kind in DECLARED.items() if _is_union(kind)}


def _is_union(kind: Any) -> bool:
    return len(get_args(kind)) > 1 and hasattr(get_args(kind)[0], "__struct_fields__")


def test_every_set_of_values_is_open_or_closed() -> None:
    assert set(ENUMS) == OPEN | CLOSED
    assert set(unions()) == OPEN_UNIONS | CLOSED_UNIONS


@pytest.mark.parametrize("name", sorted(OPEN))
def test_a_new_value_of_an_open_set_reads_as_unknown(name: str) -> None:
    value = decode(b'"from_the_future"', ENUMS[name])
    assert (value.value, encode(value)) == ("unknown", b'"unknown"')
    assert decode(b'"unknown"', ENUMS[name]) is value
    for broken in (b"null", b"1", b'["x"]'):
        with pytest.raises(BadValue):
            decode(broken, ENUMS[name])


@pytest.mark.parametrize("name", sorted(CLOSED))
def test_a_new_value_of_a_closed_set_is_refused(name: str) -> None:
    for broken in (b'"from_the_future"', b'"unknown"', b'""', b"null"):
        with pytest.raises(BadValue):
            decode(broken, ENUMS[name])


@pytest.mark.parametrize("name", sorted(OPEN_UNIONS))
def test_a_new_kind_of_an_open_union_reads_as_unknown(name: str) -> None:
    for body in (b'{"kind":"from_the_future","value":[1]}', b'{"kind":"unknown"}'):
        assert encode(decode(body, unions()[name])) == b'{"kind":"unknown"}'


@pytest.mark.parametrize("name", sorted(OPEN_UNIONS | CLOSED_UNIONS))
def test_a_union_wants_an_object_with_a_kind(name: str) -> None:
    for broken in (b"{}", b'{"kind":null}', b'{"kind":["x"]}', b'"unknown"', b"[]", b"null"):
        with pytest.raises(BadValue):
            decode(broken, unions()[name])


@pytest.mark.parametrize("name", sorted(CLOSED_UNIONS))
def test_a_new_kind_of_a_closed_union_is_refused(name: str) -> None:
    for kind in ("from_the_future", "unknown"):
        with pytest.raises(BadValue) as bad:
            decode(json.dumps({"kind": kind}).encode(), unions()[name])
        assert bad.value.where == "$.kind"


def test_a_known_kind_with_a_broken_body_is_refused() -> None:
    for body, kind, where in (
        (b'{"kind":"host","host":"h","port":99999}', t.Grant, "$.port"),
        (b'{"kind":"bus","bus":"gnome"}', t.Grant, "$.bus"),
        (b'{"kind":"desktop","desktop":7}', t.Grant, "$.desktop"),
        (b'{"kind":"desktop"}', t.Grant, "$"),
        (b'{"kind":"project","value":"x"}', t.RouteScope, "$.value"),
        (b'{"kind":"new","reason":{"kind":"idle"}}', t.RouteSwitch, "$.reason"),
    ):
        with pytest.raises(BadValue) as bad:
            decode(body, kind)
        assert bad.value.where == where


def test_a_desktop_that_the_reader_does_not_know_makes_the_grant_unknown() -> None:
    grants = b'[{"kind":"desktop","desktop":"kde"},{"kind":"desktop","desktop":"i3"}]'
    info = decode(
        b'{"kinds":[],"launch":{"kind":"contained","grants":%b},"grants":%b}' % (grants, grants),
        ExitInfo,
    )
    wanted = (t.GrantUnknown(), t.GrantDesktop(t.DesktopKind.I3))
    assert (info.launch, info.grants) == (t.LaunchContained(wanted), wanted)
    with pytest.raises(BadValue):
        decode(b'{"kind":"desktop","desktop":"kde"}', t.GrantDesktop)


@pytest.mark.parametrize("value", ["unknown", "asleep"])
def test_params_hold_no_unknown_value(value: str) -> None:
    params = {"command_id": COMMAND, "presence": value}
    with pytest.raises(BadValue) as bad:
        decode(json.dumps(params).encode(), m.PresenceSetParams)
    assert bad.value.where == "$.presence"
    result = decode(json.dumps({"presence": value}).encode(), m.PresenceSetResult)
    assert result.presence is t.Presence.UNKNOWN


def test_an_event_outlives_its_new_values() -> None:
    body = {
        "kind": "turn_completed",
        "turn_id": TURN,
        "stop": {"reason": "bored", "how": "very"},
    }
    event = ev.decode_event("turn_completed", json.dumps(body).encode())
    assert event == ev.TurnCompleted(turn_id=TURN, stop=t.StopInfo(t.StopReason.UNKNOWN))


def test_a_closed_value_deep_inside_names_its_path() -> None:
    body = {
        "kind": "snapshot",
        "conversation": {
            "id": CONVERSATION,
            "status": "idle",
            "created_at": "2026-10-03T12:00:00Z",
            "updated_at": "2026-10-03T12:00:00Z",
            "last_seq": 1,
        },
        "hwm": 9,
        "events": [
            {
                "seq": 1,
                "at": "2026-10-03T12:00:00Z",
                "event": {
                    "kind": "approval_resolved",
                    "turn_id": TURN,
                    "call_id": CALL,
                    "decision": "shrug",
                    "origin": "cli",
                },
            }
        ],
    }
    with pytest.raises(BadValue) as bad:
        decode(json.dumps(body).encode(), m.ConversationSubscribeItem)
    assert bad.value.where == "$.events[0].event.decision"


def test_unknown_capabilities_are_kept_and_follow_the_known_ones() -> None:
    body = b'{"zoom":{"b":1,"a":2},"search":true,"others":[1],"admin":false,"aim":null}'
    kept = decode(body, t.Capabilities)
    assert (kept.search, kept.admin, kept.screen_snapshots) == (True, False, None)
    assert encode(kept) == (
        b'{"admin":false,"search":true,"aim":null,"others":[1],"zoom":{"b":1,"a":2}}'
    )
    assert decode(encode(kept), t.Capabilities) == kept
    for broken in (b"[]", b'{"search":"yes"}', b'{"admin":1}'):
        with pytest.raises(BadValue):
            decode(broken, t.Capabilities)
