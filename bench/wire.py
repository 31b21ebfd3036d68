"""The protocol's own cost: hot frames, and small requests through the real socket.

A hot frame is decoded to its type and encoded again; the yardstick is orjson alone over the same
bytes. Requests are pipelined `lease.report` calls; the yardstick is a bare selector echo server.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from bench.live import running
from bench.table import Row
from efr.client.address import socket_path
from efr.wire import frames, framing
from efr.wire.codec import encode, from_builtins
from efr.wire.frames import item_frame, read_client_frame, read_server_frame, request_frame
from efr.wire.methods import ConversationSubscribeItem
from efr.wire.table import METHODS

FIXTURES = Path(__file__).parents[1] / "fixtures" / "v1"
ROUNDS, CALLS = 400, 100  # of each hot frame; a round of 100 calls fits between two interruptions
REQUESTS = 10_000
WINDOW = 24  # requests in flight: below the 32 that the daemon takes of one connection


def rows() -> Iterator[Row]:
    """Rows as they are measured."""
    yield from hot_frames()
    yield from requests()


def hot_frames() -> Iterator[Row]:
    """prompt.send as the daemon reads it; an event item and a draft item as a client does."""
    prompt = orjson.dumps(
        {"id": 7, **orjson.loads((FIXTURES / "prompt_send_params.json").read_bytes())}
    )
    yield _frame("prompt.send frame", prompt, _read_request)
    for name in ("event", "draft"):
        fixture = FIXTURES / f"conversation_subscribe_item_{name}.json"
        item = orjson.dumps({"id": 7, "item": orjson.loads(fixture.read_bytes())})
        yield _frame(f"{name} item frame", item, _read_item)


def _read_request(body: bytes) -> bytes:
    request = read_client_frame(body)
    assert type(request) is frames.Request
    params = from_builtins(request.params, METHODS[request.method].params)
    return request_frame(request.id, request.method, encode(params))


def _read_item(body: bytes) -> bytes:
    frame = read_server_frame(body)
    assert type(frame) is frames.ItemFrame
    item = from_builtins(frame.item, ConversationSubscribeItem)
    return item_frame(frame.id, encode(item))


def _frame(name: str, body: bytes, turn: Callable[[bytes], bytes]) -> Row:
    ours, plain = _per_call(lambda: turn(body), lambda: orjson.dumps(orjson.loads(body)))
    return Row(
        f"{name}, decode and encode ({len(body)} bytes)",
        f"{ours * 1e6:.1f} us",
        f"of orjson loads and dumps, {plain * 1e6:.1f} us",
        ours / plain,
    )


def _per_call(*works: Callable[[], Any]) -> list[float]:
    """Seconds a call of each: the best of many short rounds in turn, so that a busy machine shows
    less and counts against all of them alike."""
    best = [float("inf") for _ in works]
    for _ in range(ROUNDS):
        for index, work in enumerate(works):
            begin = time.perf_counter()
            for _ in range(CALLS):
                work()
            best[index] = min(best[index], (time.perf_counter() - begin) / CALLS)
    return best


def requests() -> Iterator[Row]:
    """Small requests a second through the daemon's socket, and through a bare echo server."""
    body = encode(METHODS["lease.report"].params(visible=True))
    with running() as env:
        ours = _pump(socket_path(env), body, hello=True, answers=2)
    folder = Path("/tmp") / f"efr-echo-{time.monotonic_ns()}"
    server = _Echo(str(folder))
    server.start()
    try:
        plain = _pump(str(folder), body, hello=False, answers=1)
    finally:
        server.stop()
    yield Row(
        f"{REQUESTS} small requests over one connection",
        f"{REQUESTS / ours:.0f} /s",
        f"of a bare selector echo server, {REQUESTS / plain:.0f} /s",
        ours / plain,
    )


def _pump(path: str, params: bytes, *, hello: bool, answers: int) -> float:
    """Seconds for all requests with a window in flight; each has so many answer frames."""
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        reader = framing.FrameReader()
        if hello:
            first = METHODS["hello"].params(protocol=1, origin="cli")
            peer.sendall(framing.pack(frames.request_frame(1, "hello", encode(first))))
            seen = 0
            while seen < 2:
                seen += len(reader.feed(peer.recv(1 << 16)))
        sent = got = 0
        begin = time.perf_counter()
        while got < REQUESTS * answers:
            while sent < REQUESTS and sent - got // answers < WINDOW:
                sent += 1
                frame = frames.request_frame(sent + 1, "lease.report", params)
                peer.sendall(framing.pack(frame))
            got += len(reader.feed(peer.recv(1 << 16)))
        return time.perf_counter() - begin


class _Echo(threading.Thread):
    """Reads frames and sends each back, from one selector loop."""

    def __init__(self, path: str) -> None:
        super().__init__(name="echo")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen()
        self._path = path

    def run(self) -> None:
        peer, _ = self._listener.accept()
        reader = framing.FrameReader()
        with peer, selectors.DefaultSelector() as selector:
            selector.register(peer, selectors.EVENT_READ)
            while True:
                selector.select()
                data = peer.recv(1 << 16)
                if not data:
                    return
                peer.sendall(b"".join(framing.pack(body) for body in reader.feed(data)))

    def stop(self) -> None:
        """The peer has closed: the loop ends by itself."""
        self.join()
        self._listener.close()
        Path(self._path).unlink()
