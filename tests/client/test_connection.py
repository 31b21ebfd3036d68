"""Requests over a real socket: calls, streams, cancels, errors, secrets."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from efr.client import connect
from efr.client.connection import Connection
from efr.client.errors import (
    BadReply,
    ConnectionLost,
    NoAnswer,
    NoDaemon,
    Refused,
)
from efr.client.follow import Follower
from efr.client.link import Link
from efr.client.secret import respond
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from tests.cli.fake_daemon import CALL, CONVERSATION, TURN, FakeDaemon, Peer
from tests.harness.clock import CountingIds


@pytest.fixture
def fake() -> Iterator[FakeDaemon]:
    with FakeDaemon() as daemon:
        yield daemon


class Served:
    """The daemon's side on a thread of its own, because the client blocks."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._done: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(work,))
        self._thread.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
            self._done.set_result(None)
        except BaseException as exc:
            self._done.set_exception(exc)

    def finish(self) -> None:
        self._thread.join(20)
        self._done.result(timeout=0)


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[], None]], Served]]:
    served: list[Served] = []

    def begin(work: Callable[[], None]) -> Served:
        served.append(Served(work))
        return served[-1]

    yield begin
    for one in served:
        one.finish()


Serve = Callable[[Callable[[], None]], Served]


def open_pair(fake: FakeDaemon) -> tuple[Connection, Peer]:
    connection = Connection.open(str(fake.path), CountingIds())
    return connection, fake.accept()


def test_connect_says_hello_and_a_call_is_typed(fake: FakeDaemon, serve: Serve) -> None:
    def daemon() -> None:
        peer = fake.accept()
        assert peer.hello()["origin"] == "cli"
        assert peer.expect("models.list") == {}
        peer.answer("models.list", {"models": [{"id": "m1", "source": "builtin", "new": 1}]})

    serve(daemon)
    with connect(fake.env) as efr:
        result = efr.call("models.list")

    assert result == m.ModelsListResult((t.ModelInfo(id="m1", source=t.ModelSource.BUILTIN),))


def test_a_command_id_is_made_where_one_belongs(fake: FakeDaemon, serve: Serve) -> None:
    connection, peer = open_pair(fake)

    def daemon() -> None:
        params = peer.expect("prompt.send")
        assert params == {"command_id": "00000000-0000-7000-8000-000000000001", "text": "hi"}
        sent = {"conversation_id": CONVERSATION, "turn_id": TURN, "seq": 7, "queued": False}
        peer.answer("prompt.send", sent)

    serve(daemon)
    with connection:
        assert connection.call("prompt.send", text="hi").seq == 7


def test_json_results_keep_members_of_newer_versions(fake: FakeDaemon, serve: Serve) -> None:
    connection, peer = open_pair(fake)

    def daemon() -> None:
        peer.expect("models.list")
        peer.answer("models.list", {"models": [], "newer": {"x": 1}})

    serve(daemon)
    with connection:
        assert connection.call_json("models.list") == {"models": [], "newer": {"x": 1}}


def test_a_refusal_has_its_code_and_data(fake: FakeDaemon, serve: Serve) -> None:
    connection, peer = open_pair(fake)

    def daemon() -> None:
        peer.expect("models.list")
        peer.refuse("models.list", "invalid", "no", {"setting": "model"})

    serve(daemon)
    with connection, pytest.raises(Refused) as caught:
        connection.call("models.list")

    assert (caught.value.code, caught.value.detail("setting")) == ("invalid", "model")


def test_replies_of_other_requests_are_kept_for_them(fake: FakeDaemon, serve: Serve) -> None:
    connection, peer = open_pair(fake)

    def daemon() -> None:
        peer.expect("conversation.subscribe")
        peer.subscription = peer.ids["conversation.subscribe"]
        peer.expect("models.list")
        peer.event("turn_started", cwd="/", scope={"kind": "machine"})
        peer.answer("models.list", {"models": []})
        peer.complete()
        peer.send({"id": peer.subscription, "end": True})

    serve(daemon)
    with connection:
        stream = connection.stream("conversation.subscribe", conversation_id=CONVERSATION)
        connection.call("models.list")
        kinds = [ev.kind_of(item.event) for item in stream]

    assert kinds == ["turn_started", "turn_completed"]


def test_leaving_a_stream_cancels_it(fake: FakeDaemon, serve: Serve) -> None:
    connection, peer = open_pair(fake)

    def daemon() -> None:
        peer.expect("conversation.subscribe")
        peer.subscription = peer.ids["conversation.subscribe"]
        peer.complete()
        assert peer.read() == {"cancel": peer.subscription}
        peer.complete()
        peer.refuse("conversation.subscribe", "cancelled", "as asked")

    serve(daemon)
    with connection:
        with connection.stream("conversation.subscribe", conversation_id=CONVERSATION) as stream:
            next(stream)
        assert list(stream) == []


def test_frames_arrive_in_any_pieces(fake: FakeDaemon) -> None:
    connection, peer = open_pair(fake)
    with connection:
        request = connection.start("models.list", m.ModelsListParams())
        peer.expect("models.list")
        body = json.dumps({"id": request, "item": {"models": []}}).encode()
        data = len(body).to_bytes(4, "big") + body
        for byte in data[:-1]:
            peer.connection.sendall(bytes([byte]))
            assert connection.receive() == []
        peer.connection.sendall(data[-1:])

        assert [reply.item for reply in connection.receive()] == [{"models": []}]


def test_nobody_listens(tmp_path: Any) -> None:
    with pytest.raises(NoDaemon):
        Connection.open(str(tmp_path / "none.sock"))


def test_the_daemon_closes(fake: FakeDaemon, serve: Serve) -> None:
    connection, peer = open_pair(fake)

    def daemon() -> None:
        peer.expect("models.list")
        peer.close()

    serve(daemon)
    with connection, pytest.raises(ConnectionLost):
        connection.call("models.list")


def test_silence_ends_a_call(fake: FakeDaemon) -> None:
    connection, _ = open_pair(fake)
    with connection:
        request = connection.start("models.list", m.ModelsListParams())
        with pytest.raises(NoAnswer):
            connection.next_reply(request, silence_s=0)


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b'{"id":1}', b'{"id":1,"item":1,"end":true}', b'{"id":1,"end":1}']
)
def test_what_is_no_frame(fake: FakeDaemon, body: bytes) -> None:
    connection, peer = open_pair(fake)
    with connection:
        connection.start("models.list", m.ModelsListParams())
        peer.connection.sendall(len(body).to_bytes(4, "big") + body)
        with pytest.raises(BadReply):
            connection.receive()


def test_a_result_that_does_not_fit(fake: FakeDaemon, serve: Serve) -> None:
    connection, peer = open_pair(fake)

    def daemon() -> None:
        peer.expect("models.list")
        peer.answer("models.list", {"models": 1})

    serve(daemon)
    with connection, pytest.raises(BadReply):
        connection.call("models.list")


def test_a_frame_above_the_limit(fake: FakeDaemon) -> None:
    link, peer = Link.open(str(fake.path)), fake.accept()
    with link:
        peer.connection.sendall((16 * 1024 * 1024 + 1).to_bytes(4, "big"))
        with pytest.raises(BadReply):
            link.receive()


def test_an_error_without_an_id_ends_everything(fake: FakeDaemon) -> None:
    connection, peer = open_pair(fake)
    with connection:
        peer.send({"error": {"code": "invalid", "message": "out of step"}})
        with pytest.raises(Refused, match="out of step"):
            connection.receive()


def test_a_secret_is_the_same_frame_as_its_type(fake: FakeDaemon) -> None:
    connection, peer = open_pair(fake)
    text = 'a"b\\c é 🙂'
    with connection:
        secret = memoryview(bytearray(text.encode()))
        respond(connection, CONVERSATION, CALL, secret, hidden=True)
        assert peer.read()["params"] == {
            **{"conversation_id": CONVERSATION, "call_id": CALL},
            **{"text": text, "hidden": True},
        }
        respond(connection, CONVERSATION, CALL, secret[:0], hidden=False, manual=True)
        frame = peer.read()

    assert frame["method"] == "input.respond"
    assert frame["params"]["manual"] is True


# --- following ----------------------------------------------------------------------------------


def test_a_follower_goes_on_over_a_new_connection(fake: FakeDaemon, serve: Serve) -> None:
    def daemon() -> None:
        peer = fake.accept()
        peer.hello()
        assert "after_seq" not in peer.subscribed()
        peer.complete()
        peer.close()
        again = fake.accept()
        again.hello()
        assert again.subscribed()["after_seq"] == peer.seq
        again.seq = peer.seq - 1
        again.complete()  # what was given out before is not given out again
        again.event("turn_cancelled")
        again.send({"id": again.subscription, "end": True})

    serve(daemon)
    with connect(fake.env) as efr:
        items = list(efr.follow(CONVERSATION))

    assert [item.seq for item in items] == [101, 102]  # type: ignore[union-attr]


def test_a_slow_follower_subscribes_again(fake: FakeDaemon, serve: Serve) -> None:
    def daemon() -> None:
        peer = fake.accept()
        peer.hello()
        peer.subscribed()
        peer.complete()
        peer.refuse("conversation.subscribe", "overflow", "slow", {"last_seq": peer.seq})
        assert peer.subscribed()["after_seq"] == peer.seq
        peer.send({"id": peer.subscription, "end": True})

    serve(daemon)
    with connect(fake.env) as efr:
        assert len(list(efr.follow(CONVERSATION, after_seq=3))) == 1


def test_a_follower_gives_up_when_the_daemon_stays_away(fake: FakeDaemon, serve: Serve) -> None:
    def daemon() -> None:
        peer = fake.accept()
        peer.hello()
        peer.subscribed()
        fake.stop_listening()
        peer.close()

    serve(daemon)
    pauses: list[float] = []
    with connect(fake.env) as efr:
        follower = Follower(efr.again, CONVERSATION, pause=pauses.append)
        with pytest.raises(NoDaemon):
            list(follower.items(efr))

    assert (len(pauses), set(pauses)) == (59, {0.25})


def test_a_stream_that_only_ends_is_not_asked_for_ever(fake: FakeDaemon, serve: Serve) -> None:
    def daemon() -> None:
        peer = fake.accept()
        peer.hello()
        for _ in range(4):
            peer.subscribed()
            peer.refuse("conversation.subscribe", "overflow", "slow")

    serve(daemon)
    with connect(fake.env) as efr, pytest.raises(Refused):
        list(efr.follow(CONVERSATION))
