"""The method table against the protocol's own numbers and words."""

from __future__ import annotations

from typing import get_args

import pytest

from efr.wire.scalars import Params, Wire
from efr.wire.table import METHODS, Caller

SCOPES = {
    "operate": {
        "conversation.compact", "conversation.resume", "prompt.send", "prompt.withdraw",
        "turn.interrupt", "turn.steer", "turn.undo", "presence.set", "jobs.stop",
    },
    "approve": {"approval.respond", "sandbox.surface_respond"},
    "terminal": {
        "conversation.delete", "input.respond", "call.background", "shell.interrupt",
        "pty.attach", "pty.write", "pty.resize",
    },
    "admin": {
        "admin.status", "admin.config_reload", "admin.project_add", "admin.project_remove",
        "admin.login_openai", "admin.login_api_key", "admin.logout", "admin.sandbox_check",
        "device.pair_start", "device.pair_confirm", "device.list", "device.revoke",
    },
}  # fmt: skip
STREAMS = {
    "conversations.watch",
    "conversation.subscribe",
    "pty.attach",
    "admin.login_openai",
    "device.pair_start",
}


def named(callers_without: Caller) -> set[str]:
    return {name for name, method in METHODS.items() if callers_without not in method.callers}


def test_there_are_48_methods_5_streams_and_14_receipts() -> None:
    assert len(METHODS) == 48
    assert {name for name, method in METHODS.items() if method.stream} == STREAMS
    assert sum(method.command_id for method in METHODS.values()) == 14


def test_a_method_needs_its_scope() -> None:
    for scope, names in SCOPES.items():
        assert {name for name, method in METHODS.items() if method.scope == scope} == names


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_has_its_types(name: str) -> None:
    method = METHODS[name]

    assert method.name == name
    assert issubclass(method.params, Params)
    assert ("command_id" in method.params.__struct_fields__) == method.command_id
    options = get_args(method.result) or (method.result,)
    assert all(issubclass(option, Wire) for option in options)


def test_some_callers_may_not_call_a_method_at_all() -> None:
    before_the_proof = {"hello", "device.enroll", "device.prove"}
    assert METHODS.keys() - named(Caller.UNPROVED) == before_the_proof
    assert named(Caller.USER) == {"device.enroll", "device.prove"}
    assert named(Caller.PHONE) == {"turn.undo", "input.respond", "sandbox.surface_respond"}
    assert named(Caller.MODEL) == {
        "conversations.search",
        "conversation.search",
        "sandbox.surface_respond",
        "device.enroll",
        "device.prove",
    }


def test_new_methods_are_announced_by_a_capability() -> None:
    for name in ("conversations.search", "conversation.search"):
        assert METHODS[name].capability == "search"
    assert METHODS["conversations.watch"].capability == "conversations_watch"
    assert METHODS["prompt.send"].capability is None


def test_a_phone_and_a_model_side_peer_may_call_what_their_scopes_hold() -> None:
    for_phone = {name for name, method in METHODS.items() if method.for_phone}
    assert for_phone == METHODS.keys() - SCOPES["terminal"] - SCOPES["admin"] - named(Caller.PHONE)
    for_model = {name for name, method in METHODS.items() if method.for_model}
    beyond_read = set().union(*SCOPES.values())
    assert for_model == METHODS.keys() - beyond_read - named(Caller.MODEL)
