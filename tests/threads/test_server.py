"""The socket server with a made-up dispatch, over real sockets."""

from __future__ import annotations

import json
import os
import queue
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from efr.base.clock import SystemClock
from efr.threads import listener
from efr.threads.handlers import HANDLERS, QUEUE_SIZE, Handlers
from efr.threads.requests import LATER, Answer, Call, Finished, HelloAnswer, Later, Peer
from efr.threads.server import SocketServer
from efr.wire import types as t
from efr.wire.errors import refuse
from efr.wire.framing import MAX_FRAME
from tests.harness.raw_client import LIMIT_S, Frame, RawClient, pack

Handler = Callable[[Call], Answer | Later]
ALL_SCOPES = frozenset(t.ScopeName)


class FakeDispatch:
    """Handlers by method name; everything else answers with its own params."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}
        self.scopes = ALL_SCOPES
        self.gone: queue.Queue[int] = queue.Queue()
        self.calls: queue.Queue[Call] = queue.Queue()

    def connected(self, connection_id: int, pid: int) -> Peer:
        return Peer(connection_id, pid, 1, self.scopes)

    def hello(self, peer: Peer, params: Mapping[str, Any]) -> HelloAnswer:
        if params.get("protocol") != 1:
            raise refuse(t.ErrorCode.PROTOCOL_MISMATCH, "other version", {"client": 2, "daemon": 1})
        if "origin" not in params:
            raise refuse(t.ErrorCode.INVALID, "no origin")
        return HelloAnswer(b'{"hello":1}', replace(peer, tty="/dev/pts/1"))

    def run(self, call: Call) -> Answer | Later:
        self.calls.put(call)
        handler = self.handlers.get(call.method.name)
        return handler(call) if handler else json.dumps(call.params).encode()

    def closed(self, peer: Peer) -> None:
        self.gone.put(peer.connection_id)


class FakeStream:
    """A stream that a test fills by hand."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: list[bytes | Finished] = []
        self._wake: Callable[[], None] = lambda: None
        self.pulled = 0
        self.closed = threading.Event()
        self.taken = threading.Event()

    def set_ready(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self.taken.set()

    def put(self, *items: bytes | Finished) -> None:
        with self._lock:
            self._items += items
        self._wake()

    def next_item(self) -> bytes | Finished | None:
        with self._lock:
            if not self._items:
                return None
            self.pulled += 1
            return self._items.pop(0)

    def close(self) -> None:
        assert not self.closed.is_set(), "closed twice"
        self.closed.set()


class EndlessStream(FakeStream):
    """Always has an item of one size."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._item = json.dumps("x" * size).encode()

    def next_item(self) -> bytes | Finished | None:
        self.pulled += 1
        return self._item


@dataclass
class Running:
    """A server that runs."""

    server: SocketServer
    dispatch: FakeDispatch
    handlers: Handlers
    path: Path

    def client(self, **kwargs: Any) -> RawClient:
        client = RawClient(self.path, **kwargs)
        client.hello()
        return client

    def stop(self, flush_s: float = LIMIT_S) -> bool:
        stopped = self.server.stop(SystemClock().monotonic() + flush_s)
        return stopped and not self.handlers.stop(SystemClock().monotonic() + LIMIT_S)


@pytest.fixture(name="folder")
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="efr-") as name:
        yield Path(name)


@pytest.fixture(name="running")
def _running(folder: Path) -> Iterator[Running]:
    running = start(folder / "s")
    yield running
    assert running.stop()
    assert not running.path.exists()


class CountingClock(SystemClock):
    """Counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def monotonic(self) -> float:
        self.asked += 1
        return super().monotonic()


def start(path: Path, clock: SystemClock | None = None) -> Running:
    dispatch = FakeDispatch()
    handlers = Handlers(dispatch, SystemClock())
    server = SocketServer(listener.bind(path), dispatch, handlers, clock or SystemClock())
    handlers.start()
    server.start()
    return Running(server, dispatch, handlers, path)


def error_of(frame: Frame) -> tuple[object, str]:
    return frame.get("id"), frame["error"]["code"]


# The hello gate.


def test_a_method_before_hello_is_refused_and_hello_still_works(running: Running) -> None:
    with RawClient(running.path) as client:
        assert client.refusal("models.list")["code"] == "unauthorized"
        assert client.refusal("no.such.method")["code"] == "unauthorized"
        assert client.refusal("hello", {"protocol": 1})["code"] == "invalid"
        assert client.hello() == {"hello": 1}
        assert client.refusal("hello", {"protocol": 1, "origin": "cli"})["code"] == "conflict"
        assert client.call("models.list", {"a": 1}) == {"a": 1}


def test_another_protocol_version_is_answered_and_closed(running: Running) -> None:
    with RawClient(running.path) as client:
        newer = {"id": 1, "method": "hello", "params": {"protocol": 2, "origin": "cli"}}
        client.socket.sendall(pack(newer) + pack({**newer, "id": 2, "params": {"protocol": 1}}))
        frames = client.read_to_end()
    assert [error_of(frame) for frame in frames] == [(1, "protocol_mismatch")]
    assert frames[0]["error"]["data"] == {"client": 2, "daemon": 1}


def test_a_hello_and_what_follows_it_may_come_in_one_piece(running: Running) -> None:
    with RawClient(running.path) as client:
        hello = {"id": 1, "method": "hello", "params": {"protocol": 1, "origin": "cli"}}
        client.socket.sendall(pack(hello) + pack({"id": 2, "method": "models.list", "params": {}}))
        assert [client.read() for _ in range(4)] == [
            {"id": 1, "item": {"hello": 1}},
            {"id": 1, "end": True},
            {"id": 2, "item": {}},
            {"id": 2, "end": True},
        ]


def test_the_handler_sees_the_peer_as_its_hello_described_it(running: Running) -> None:
    with running.client() as client:
        client.call("models.list")
        call = running.dispatch.calls.get(timeout=LIMIT_S)
    assert (call.peer.tty, call.peer.pid) == ("/dev/pts/1", os.getpid())


# Frames.


def test_a_frame_byte_by_byte_is_a_frame(running: Running) -> None:
    with running.client() as client:
        for byte in pack({"id": 7, "method": "models.list", "params": {"x": "größe"}}):
            client.socket.sendall(bytes([byte]))
        assert client.answer(7)["item"] == {"x": "größe"}


def test_a_length_over_the_limit_is_answered_without_an_id_and_closed(running: Running) -> None:
    with running.client() as client:
        early = pack({"id": 3, "method": "no.such.method", "params": {}})
        client.socket.sendall(early + struct.pack(">I", MAX_FRAME + 1))
        frames = client.read_to_end()
    assert [error_of(frame) for frame in frames] == [(3, "invalid"), (None, "invalid")]


def test_a_frame_of_exactly_the_limit_is_served(running: Running) -> None:
    frame = pack({"id": 1, "method": "models.list", "params": {"x": ""}})
    text = "x" * (MAX_FRAME - (len(frame) - 4))
    with running.client() as client:
        client.request("models.list", {"x": text}, 1)
        assert client.answer(1)["item"] == {"x": text}


def test_an_answer_over_the_limit_is_an_error_and_the_connection_lives(running: Running) -> None:
    running.dispatch.handlers["models.list"] = lambda call: b'"' + b"x" * MAX_FRAME + b'"'
    open_stream(running, EndlessStream(MAX_FRAME))
    with running.client() as client:
        assert client.refusal("models.list")["code"] == "internal"
        assert client.refusal("conversation.subscribe")["code"] == "internal"
        assert client.call("projects.list") == {}


@pytest.mark.parametrize(
    ("body", "request_id", "closes"),
    [
        (b'{"id":5,"method":7,"params":{}}', 5, False),
        (b'{"id":5,"method":"models.list"}', 5, False),
        (b'{"id":5,"method":"models.list","params":[]}', 5, False),
        (b'{"id":5,"cancel":5,"method":"models.list","params":{}}', 5, False),
        (b'{"id":5,"method":"no.such","params":{}}', 5, False),
        (b"not json", None, True),
        (b"", None, True),
        (b"[]", None, True),
        (b'{"method":"models.list","params":{}}', None, True),
        (b'{"id":-1,"method":"models.list","params":{}}', None, True),
        (b"\xff\xfe", None, True),
    ],
)
def test_a_bad_frame_is_invalid(
    running: Running, body: bytes, request_id: int | None, closes: bool
) -> None:
    with running.client() as client:
        client.socket.sendall(struct.pack(">I", len(body)) + body)
        if closes:
            assert [error_of(f) for f in client.read_to_end()] == [(request_id, "invalid")]
        else:
            assert error_of(client.read()) == (request_id, "invalid")
            assert client.call("models.list", {"still": "here"}) == {"still": "here"}


def test_half_a_frame_then_a_close_tells_the_daemon_once(running: Running) -> None:
    with running.client() as client:
        client.call("models.list")
        connection = running.dispatch.calls.get(timeout=LIMIT_S).peer.connection_id
        client.socket.sendall(pack({"id": 9, "method": "models.list", "params": {}})[:9])
    assert running.dispatch.gone.get(timeout=LIMIT_S) == connection
    with running.client() as other:
        other.call("models.list")
    assert running.dispatch.gone.get(timeout=LIMIT_S) == connection + 1


def test_64_kib_of_garbage_ends_that_connection_alone(running: Running) -> None:
    with running.client() as other, RawClient(running.path) as client:
        client.socket.sendall(b"\xff" * 65536)
        assert [error_of(f) for f in client.read_to_end()] == [(None, "invalid")]
        assert other.call("models.list") == {}


# Requests.


def test_an_id_in_flight_is_refused_and_is_free_after_its_end(running: Running) -> None:
    opened = queue.Queue[Call]()

    def later(call: Call) -> Later:
        opened.put(call)
        return LATER

    running.dispatch.handlers["models.list"] = later
    with running.client() as client:
        client.request("models.list", {}, 4)
        first = opened.get(timeout=LIMIT_S)
        client.request("projects.list", {}, 4)
        assert error_of(client.read()) == (4, "invalid")
        first.finish(b'"done"')
        assert client.answer(4) == {"id": 4, "item": "done"}
        client.request("projects.list", {"again": True}, 4)
        assert client.answer(4)["item"] == {"again": True}


def test_a_handler_that_raises_is_internal_and_the_connection_lives(running: Running) -> None:
    def broken(call: Call) -> Answer:
        raise RuntimeError("secret text")

    running.dispatch.handlers["models.list"] = broken
    with running.client() as client:
        error = client.refusal("models.list")
        assert (error["code"], "secret" in error["message"]) == ("internal", False)
        assert client.call("projects.list") == {}


def test_a_refusal_is_the_error_frame(running: Running) -> None:
    def refusing(call: Call) -> Answer:
        raise refuse(t.ErrorCode.NOT_FOUND, "no such thing", {"b": 1, "a": 2})

    running.dispatch.handlers["models.list"] = refusing
    with running.client() as client:
        assert client.refusal("models.list") == {
            "code": "not_found",
            "message": "no such thing",
            "data": {"a": 2, "b": 1},
        }


def test_a_scope_that_the_connection_lacks_is_forbidden(running: Running) -> None:
    running.dispatch.scopes = frozenset({t.ScopeName.READ})
    with running.client() as client:
        assert client.call("models.list") == {}
        assert client.refusal("prompt.send")["code"] == "forbidden"
        assert client.refusal("admin.status")["code"] == "forbidden"


def test_more_than_32_requests_in_flight_are_busy(running: Running) -> None:
    running.dispatch.handlers["models.list"] = lambda call: LATER
    with running.client() as client:
        for request_id in range(1, 34):
            client.request("models.list", {}, request_id)
        assert error_of(client.read()) == (33, "busy")
        client.send({"cancel": 1})
        assert error_of(client.read()) == (1, "cancelled")
        assert client.call("projects.list") == {}


def test_a_full_handler_queue_is_busy_and_recovers(running: Running) -> None:
    go = threading.Event()
    entered = queue.Queue[int]()

    def slow(call: Call) -> Answer:
        entered.put(1)
        assert go.wait(LIMIT_S)
        return b"1"

    running.dispatch.handlers["models.list"] = slow
    clients = [running.client() for _ in range(4)]
    try:
        for request_id in range(1, HANDLERS + 1):
            clients[0].request("models.list", {}, request_id)
        for _ in range(HANDLERS):
            entered.get(timeout=LIMIT_S)
        for client in clients[1:3]:
            for request_id in range(1, QUEUE_SIZE // 2 + 1):
                client.request("models.list", {}, request_id)
            assert client.refusal("no.such")["code"] == "invalid"  # all before it is queued
        error = clients[3].refusal("projects.list")
        assert error["code"] == "busy"
        go.set()
        assert clients[1].answer(1)["item"] == 1, "one has left the queue"
        assert clients[3].call("admin.status") == {}
    finally:
        go.set()
        for client in clients:
            client.close()


# Streams.


def open_stream(running: Running, stream: FakeStream) -> None:
    running.dispatch.handlers["conversation.subscribe"] = lambda call: stream


def test_a_stream_sends_items_and_one_end(running: Running) -> None:
    stream = FakeStream()
    open_stream(running, stream)
    with running.client() as client:
        request_id = client.request("conversation.subscribe")
        stream.taken.wait(LIMIT_S)
        stream.put(b"1", b"2")
        assert [client.read()["item"], client.read()["item"]] == [1, 2]
        stream.put(b"3", Finished(), b"4")
        assert client.read() == {"id": request_id, "item": 3}
        assert client.read() == {"id": request_id, "end": True}
        assert stream.closed.wait(LIMIT_S)
        assert client.call("models.list", {}) == {}


def test_a_cancelled_stream_sends_cancelled_and_nothing_after(running: Running) -> None:
    stream = EndlessStream(10)
    open_stream(running, stream)
    with running.client() as client:
        request_id = client.request("conversation.subscribe")
        assert client.read()["item"]
        client.send({"cancel": request_id})
        client.send({"cancel": 12345})
        while "item" in (frame := client.read()):
            pass
        assert error_of(frame) == (request_id, "cancelled")
        assert stream.closed.wait(LIMIT_S)
        client.send({"cancel": request_id})
        last = client.request("models.list")
        assert client.read()["id"] == last


def test_a_stream_that_breaks_is_internal(running: Running) -> None:
    class Broken(FakeStream):
        def next_item(self) -> bytes | Finished | None:
            raise RuntimeError("broken")

    stream = Broken()
    open_stream(running, stream)
    with running.client() as client:
        assert client.refusal("conversation.subscribe")["code"] == "internal"
        assert stream.closed.wait(LIMIT_S)


def test_a_stream_opened_after_its_cancel_is_closed(running: Running) -> None:
    go, entered = threading.Event(), threading.Event()
    stream = FakeStream()

    def slow(call: Call) -> Answer:
        entered.set()
        assert go.wait(LIMIT_S)
        return stream

    running.dispatch.handlers["conversation.subscribe"] = slow
    with running.client() as client:
        request_id = client.request("conversation.subscribe")
        assert entered.wait(LIMIT_S)
        client.send({"cancel": request_id})
        assert error_of(client.read()) == (request_id, "cancelled")
        go.set()
        assert stream.closed.wait(LIMIT_S)


def test_a_client_that_never_reads_blocks_itself_alone(running: Running) -> None:
    stream = EndlessStream(1000)
    open_stream(running, stream)
    with running.client(receive_buffer=4096) as stuck, running.client() as other:
        stuck.request("conversation.subscribe")
        stuck.request("models.list")
        for n in range(300):
            assert other.call("projects.list", {"n": n}) == {"n": n}
        pulled = stream.pulled
        for n in range(300):
            assert other.call("projects.list", {"n": n}) == {"n": n}
        assert stream.pulled == pulled, "nothing is pulled for a full buffer"
        # The kernel's buffer takes some hundred frames, the connection's own 64.
        assert pulled < 64 + 1000
        assert "item" in stuck.read()


def test_items_of_16_mib_do_not_pile_up(running: Running) -> None:
    stream = EndlessStream(4 * 1024 * 1024)
    open_stream(running, stream)
    with running.client() as stuck, running.client() as other:
        stuck.request("conversation.subscribe")
        assert stream.taken.wait(LIMIT_S)
        for _ in range(100):
            other.call("models.list")
        assert stream.pulled <= 2


def test_requests_of_a_client_that_never_reads_are_not_read_without_end(running: Running) -> None:
    with running.client(receive_buffer=4096) as stuck, running.client() as other:
        stuck.socket.settimeout(1.0)
        frame = pack({"id": 1, "method": "no.such." + "x" * 2000, "params": {}})
        many = frame * 100_000  # 200 MB: more than any buffer on the way
        with pytest.raises(TimeoutError):
            stuck.socket.sendall(many)
        assert other.call("models.list") == {}
        stuck.socket.settimeout(LIMIT_S)
        assert error_of(stuck.read()) == (1, "invalid")


# Connections.


def test_the_65th_connection_is_closed_until_one_leaves(running: Running) -> None:
    silent = [RawClient(running.path) for _ in range(500)]
    try:
        for client in silent[64:]:
            assert client.read_to_end() == []
        readable, _, _ = select.select([client.socket for client in silent[:64]], [], [], 0)
        assert readable == []
        assert silent[0].hello() == {"hello": 1}
        silent[1].close()
        running.dispatch.gone.get(timeout=LIMIT_S)
        with running.client() as fresh:
            assert fresh.call("models.list") == {}
    finally:
        for client in silent:
            client.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user id")
def test_another_user_is_closed_before_a_frame(running: Running, folder: Path) -> None:
    folder.chmod(0o755)
    running.path.chmod(0o666)
    program = (
        "import socket,sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        " s.settimeout(20);\n"
        "try: print('data' if s.recv(1) else 'closed')\n"
        "except ConnectionResetError: print('closed')"
    )
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-c", program, str(running.path)],
        user=65534,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        cwd="/",
    )
    assert done.stdout == "closed\n", done.stderr


def test_a_client_that_only_sends_no_more_gets_all_its_answers(running: Running) -> None:
    stream = FakeStream()
    open_stream(running, stream)
    opened = queue.Queue[Call]()

    def later(call: Call) -> Later:
        opened.put(call)
        return LATER

    running.dispatch.handlers["models.list"] = later
    with running.client() as client:
        late = client.request("models.list")
        watched = client.request("conversation.subscribe")
        call = opened.get(timeout=LIMIT_S)
        assert stream.taken.wait(LIMIT_S)
        client.socket.sendall(pack({"id": 1, "method": "projects.list", "params": {}}) + b"\0\0")
        client.socket.shutdown(socket.SHUT_WR)
        assert client.answer(1)["item"] == {}
        stream.put(b"1")
        assert client.read() == {"id": watched, "item": 1}
        call.finish(b"2")
        assert client.read() == {"id": late, "item": 2}
        assert client.read() == {"id": late, "end": True}
        assert running.dispatch.gone.empty(), "its stream goes on"
        stream.put(b"3", Finished())
        assert client.read_to_end() == [{"id": watched, "item": 3}, {"id": watched, "end": True}]
    assert running.dispatch.gone.get(timeout=LIMIT_S)
    assert stream.closed.is_set()


def test_a_client_that_closes_after_its_half_close_cancels_what_is_left(running: Running) -> None:
    stream = FakeStream()
    open_stream(running, stream)
    with running.client() as client:
        client.request("conversation.subscribe")
        assert stream.taken.wait(LIMIT_S)
        client.socket.shutdown(socket.SHUT_WR)
        stream.put(b"1")
        assert client.read()["item"] == 1
    assert stream.closed.wait(LIMIT_S)
    assert running.dispatch.gone.get(timeout=LIMIT_S)


def test_a_half_closed_connection_ends_with_the_daemon(folder: Path) -> None:
    running = start(folder / "s")
    stream = FakeStream()
    open_stream(running, stream)
    with running.client() as client:
        request_id = client.request("conversation.subscribe")
        assert stream.taken.wait(LIMIT_S)
        client.socket.shutdown(socket.SHUT_WR)
        stream.put(b"1")
        assert client.read()["item"] == 1
        assert running.stop()
        assert [error_of(frame) for frame in client.read_to_end()] == [(request_id, "cancelled")]


def test_a_client_that_sends_no_more_costs_no_turn_of_the_loop(folder: Path) -> None:
    """Its socket stays readable for ever."""
    clock = CountingClock()
    running = start(folder / "s", clock=clock)
    stream = FakeStream()
    open_stream(running, stream)
    try:
        with running.client() as half:
            half.request("conversation.subscribe")
            assert stream.taken.wait(LIMIT_S)
            half.socket.shutdown(socket.SHUT_WR)
            stream.put(b"1")
            assert half.read()["item"] == 1
            asked = clock.asked
            assert select.select([half.socket], [], [], 0.1) == ([], [], [])
            assert clock.asked < asked + 20, "each turn of the loop asks the clock"
    finally:
        assert running.stop()


def test_out_of_descriptors_accepting_pauses_and_goes_on(running: Running) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with running.client() as client:
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        used = max(int(name) for name in os.listdir("/proc/self/fd"))
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 1, hard))
        held: list[int] = []
        try:
            while True:
                held.append(os.dup(0))
        except OSError:
            pass
        try:
            waiting[0].connect(str(running.path))
            assert client.call("models.list") == {}, "who is connected keeps working"
        finally:
            for handle in held:
                os.close(handle)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for sock in waiting[1:]:
            sock.connect(str(running.path))
        for sock in waiting:
            sock.settimeout(LIMIT_S)
            sock.sendall(pack({"id": 1, "method": "hello", "params": {"protocol": 1, "origin": 1}}))
            assert b"hello" in sock.recv(4096)
            sock.close()


def test_a_client_that_dies_while_frames_wait_is_forgotten(running: Running) -> None:
    stream = EndlessStream(100_000)
    open_stream(running, stream)
    client = running.client(receive_buffer=4096)
    client.request("conversation.subscribe")
    assert client.read()["item"]
    client.close()
    running.dispatch.gone.get(timeout=LIMIT_S)
    assert stream.closed.wait(LIMIT_S)


# The end.


def test_a_stop_cancels_what_is_in_flight_and_flushes(folder: Path) -> None:
    running = start(folder / "s")
    stream = FakeStream()
    open_stream(running, stream)
    running.dispatch.handlers["models.list"] = lambda call: LATER
    with running.client() as client:
        one = client.request("conversation.subscribe")
        two = client.request("models.list")
        assert stream.taken.wait(LIMIT_S)
        assert running.dispatch.calls.get(timeout=LIMIT_S)
        assert running.dispatch.calls.get(timeout=LIMIT_S)
        assert running.stop()
        assert {error_of(frame) for frame in client.read_to_end()} == {
            (one, "cancelled"),
            (two, "cancelled"),
        }
    assert stream.closed.is_set()
    assert not running.path.exists()
    with pytest.raises(FileNotFoundError):
        RawClient(running.path)


def test_a_stop_waits_for_a_client_that_never_reads_only_so_long(folder: Path) -> None:
    running = start(folder / "s")
    open_stream(running, EndlessStream(100_000))
    with running.client(receive_buffer=4096) as stuck:
        stuck.request("conversation.subscribe")
        assert stuck.read()["item"]
        assert running.stop(flush_s=0.2)
    assert not running.server.is_alive()


def test_a_stop_twice_and_one_before_the_start_leave_nothing(folder: Path) -> None:
    running = start(folder / "s")
    assert running.stop()
    assert running.stop()
    dispatch = FakeDispatch()
    handlers = Handlers(dispatch, SystemClock())
    server = SocketServer(listener.bind(folder / "s"), dispatch, handlers, SystemClock())
    assert server.stop(0.0)
    assert not (folder / "s").exists()


def test_an_answer_after_the_end_goes_nowhere(folder: Path) -> None:
    running = start(folder / "s")
    opened = queue.Queue[Call]()

    def later(call: Call) -> Later:
        opened.put(call)
        return LATER

    running.dispatch.handlers["models.list"] = later
    stream = FakeStream()
    with running.client() as client:
        client.request("models.list")
        call = opened.get(timeout=LIMIT_S)
        assert running.stop()
        assert call.cancel.cancelled
        call.finish(stream)
    assert stream.closed.is_set()


# The listener.


def test_the_socket_is_private_and_nothing_else_is_left(folder: Path) -> None:
    bound = listener.bind(folder / "s")
    assert (folder / "s").stat().st_mode & 0o777 == 0o600
    assert os.listdir(folder) == ["s"]
    bound.close()
    bound.close()
    assert os.listdir(folder) == []


def test_a_stale_socket_is_replaced_and_a_live_one_never(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(folder / "s"))
    bound = listener.bind(folder / "s")
    facts = (folder / "s").stat()
    with pytest.raises(listener.SocketTaken, match="another efrd"):
        listener.bind(folder / "s")
    assert (folder / "s").stat() == facts
    bound.close()


def test_a_file_at_the_path_stays(folder: Path) -> None:
    (folder / "s").write_text("mine")
    with pytest.raises(listener.SocketTaken, match="is not a socket"):
        listener.bind(folder / "s")
    assert (folder / "s").read_text() == "mine"
    assert os.listdir(folder) == ["s"]


def test_a_socket_that_is_not_ours_any_more_is_not_removed(folder: Path) -> None:
    bound = listener.bind(folder / "s")
    (folder / "s").unlink()
    (folder / "s").write_text("somebody else's")
    bound.close()
    assert (folder / "s").exists()


def test_a_path_of_107_bytes_is_bound(folder: Path) -> None:
    deep = folder / ("d" * (107 - len(str(folder)) - 3))
    deep.mkdir()
    path = deep / "s"
    assert len(str(path)) == 107
    bound = listener.bind(path)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
    bound.close()
    with pytest.raises(OSError, match="longer than 107"):
        listener.bind(deep / "sx")


def test_leftovers_of_a_killed_bind_go(folder: Path) -> None:
    (folder / ".bind-left").mkdir()
    (folder / ".bind-left" / "s").touch()
    listener.remove_leftovers(folder, before_us=0)
    assert os.listdir(folder) == [".bind-left"]
    listener.remove_leftovers(folder, before_us=2**62)
    assert os.listdir(folder) == []


def test_50_starts_and_stops_leave_no_thread_and_no_descriptor(folder: Path) -> None:
    before = (threading.active_count(), len(os.listdir("/proc/self/fd")))
    for _ in range(50):
        running = start(folder / "s")
        with running.client() as client:
            client.call("models.list")
        assert running.stop()
    assert (threading.active_count(), len(os.listdir("/proc/self/fd"))) == before
    assert sys.exc_info() == (None, None, None)
