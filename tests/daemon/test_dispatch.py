"""Who may call what, and what becomes of errors."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from efr.base.cancel import Cancelled
from efr.config.errors import ConfigError
from efr.daemon.dispatch import Dispatcher, Greeting
from efr.daemon.peers import ModelSide
from efr.daemon.processes import Process
from efr.store import errors as store
from efr.threads.requests import Answer, Call, Later, Peer
from efr.wire import codec
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import ErrorBody, Refusal, refuse
from efr.wire.table import METHODS

EFRD, USER, MODEL = 100, 200, 300
PROCESSES = {USER: Process(1, USER, 7), MODEL: Process(EFRD, MODEL, 7)}
CONVERSATION = "00000000-0000-7000-8000-00000000c001"

GREETING = Greeting(
    daemon_id=CONVERSATION,
    version="0.1.0",
    capabilities=t.Capabilities(admin=True),
    paths=t.DaemonPaths("/scratch", "/data"),
    challenge=lambda: "c" * 43,
)


def dispatcher(run: Callable[[Any, Call], Any]) -> Dispatcher:
    side = ModelSide(EFRD, set, PROCESSES.get)
    return Dispatcher(dict.fromkeys(METHODS, run), GREETING, side, lambda peer: None)


def ask(
    run: Callable[[Any, Call], Any],
    method: str = "conversation.history",
    params: dict[str, Any] | None = None,
    *,
    pid: int = USER,
    remote: bool = False,
) -> Answer | Later:
    door = dispatcher(run)
    peer = door.connected(1, pid)
    if remote:
        peer = Peer(1, 0, None, peer.scopes, remote=True)
    given = {"conversation_id": CONVERSATION} if params is None else params
    return door.run(Call(METHODS[method], given, peer, lambda answer: None))


def error(answer: Answer | Later) -> ErrorBody:
    assert isinstance(answer, ErrorBody)
    return answer


def page(params: Any, call: Call) -> m.ConversationHistoryResult:
    return m.ConversationHistoryResult(())


def test_a_result_is_encoded() -> None:
    assert ask(page) == b'{"events":[]}'


def test_params_reach_the_method_decoded() -> None:
    seen: list[Any] = []

    def run(params: Any, call: Call) -> m.ConversationHistoryResult:
        seen.append(params)
        return page(params, call)

    ask(run, params={"conversation_id": CONVERSATION.upper(), "new_member": 1, "limit": 3})
    assert seen == [m.ConversationHistoryParams(CONVERSATION, None, 3)]


def test_params_that_do_not_decode_are_invalid_and_say_where() -> None:
    body = error(ask(page, params={"conversation_id": CONVERSATION, "limit": "3"}))
    assert body.code is t.ErrorCode.INVALID
    assert "limit" in body.message


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"hello"}))
def test_a_model_side_peer_may_only_what_the_table_says(name: str) -> None:
    reached = RuntimeError("reached")

    def run(params: Any, call: Call) -> Any:
        raise reached

    body = error(ask(run, name, {}, pid=MODEL))
    assert (body.code is not t.ErrorCode.FORBIDDEN) is METHODS[name].for_model


@pytest.mark.parametrize("name", ["device.enroll", "device.prove"])
def test_the_methods_of_a_phone_are_not_for_the_socket(name: str) -> None:
    assert error(ask(page, name, {})).code is t.ErrorCode.FORBIDDEN


@pytest.mark.parametrize("name", ["input.respond", "turn.undo", "sandbox.surface_respond"])
def test_a_phone_never_types_and_never_undoes(name: str) -> None:
    assert error(ask(page, name, {}, remote=True)).code is t.ErrorCode.FORBIDDEN


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (refuse(t.ErrorCode.CONFLICT, "no"), t.ErrorCode.CONFLICT),
        (Cancelled(), t.ErrorCode.CANCELLED),
        (ConfigError("no"), t.ErrorCode.INVALID),
        (store.NotPending("c"), t.ErrorCode.NOT_FOUND),
        (store.UnknownConversation("c"), t.ErrorCode.NOT_FOUND),
        (store.DeletedConversation("c"), t.ErrorCode.NOT_FOUND),
        (store.StoreBusy(Path("db"), "locked"), t.ErrorCode.BUSY),
        (store.StoreClosed("stopped"), t.ErrorCode.BUSY),
        (store.StoreFull(Path("db"), "full"), t.ErrorCode.INTERNAL),
        (store.StoreReadOnly(Path("db"), "ro"), t.ErrorCode.INTERNAL),
        (store.StoreCorrupt(Path("db"), "page 7", None), t.ErrorCode.INTERNAL),
        (KeyError("secret text"), t.ErrorCode.INTERNAL),
    ],
)
def test_each_error_of_the_rooms_has_a_code(
    raised: Exception, code: t.ErrorCode, caplog: pytest.LogCaptureFixture
) -> None:
    def run(params: Any, call: Call) -> Any:
        raise raised

    with caplog.at_level(logging.ERROR):
        body = error(ask(run))
    assert body.code is code
    assert "secret text" not in body.message
    assert bool(caplog.records) is (code is t.ErrorCode.INTERNAL)


def hello(params: dict[str, Any]) -> dict[str, Any]:
    door = dispatcher(page)
    found: dict[str, Any] = json.loads(door.hello(door.connected(1, USER), params).item)
    return found


def test_a_hello_says_who_answers() -> None:
    assert hello({"protocol": 1, "origin": "shell", "tty": "/dev/pts/1", "new": {}}) == {
        "daemon_id": CONVERSATION,
        "protocol": 1,
        "version": "0.1.0",
        "capabilities": {"admin": True},
        "paths": {"scratch_root": "/scratch", "data_dir": "/data"},
        "challenge": "c" * 43,
    }


def test_a_hello_names_the_peer() -> None:
    door = dispatcher(page)
    params = {"protocol": 1, "origin": "shell", "tty": "/dev/pts/1"}
    peer = door.hello(door.connected(4, USER), params).peer
    assert (peer.connection_id, peer.origin, peer.tty) == (4, t.Origin.SHELL, "/dev/pts/1")


@pytest.mark.parametrize(
    ("params", "code", "data"),
    [
        (
            {"protocol": 2, "origin": "newer", "x": []},
            t.ErrorCode.PROTOCOL_MISMATCH,
            {"client": 2, "daemon": 1},
        ),
        ({"protocol": "1", "origin": "cli"}, t.ErrorCode.INVALID, None),
        ({"protocol": True, "origin": "cli"}, t.ErrorCode.INVALID, None),
        ({"protocol": 1, "origin": "newer"}, t.ErrorCode.INVALID, None),
        ({"protocol": 1}, t.ErrorCode.INVALID, None),
    ],
)
def test_a_hello_that_fails(params: dict[str, Any], code: t.ErrorCode, data: Any) -> None:
    with pytest.raises(Refusal) as caught:
        hello(params)
    assert (caught.value.body.code, caught.value.body.data) == (code, data)
    assert codec.encode(caught.value.body)
