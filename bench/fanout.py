"""Events to 50 subscribers of one conversation, beside plain writes of the same bytes.

One prompt makes a stream of events; every subscriber reads all of them. The yardstick writes the
bytes that one subscriber got to 50 socket pairs, whose other ends read them.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator

from bench.live import running
from bench.table import Row
from efr.client import connect
from efr.client.address import socket_path
from efr.wire import frames, framing
from efr.wire.codec import encode
from efr.wire.table import METHODS

SUBSCRIBERS = 50
PROMPT = "count 2000"


def rows() -> Iterator[Row]:
    """One row: the time until the last subscriber saw the turn's end."""
    with running() as env, connect(env) as efr:
        first = efr.call("prompt.send", text="hello", new_conversation=True)
        readers = [Reader(env, first.conversation_id) for _ in range(SUBSCRIBERS)]
        for reader in readers:
            reader.read_until(b'"kind":"turn_completed"')
        begin = time.perf_counter()
        efr.call("prompt.send", text=PROMPT, conversation_id=first.conversation_id)
        wait_for_all(readers)
        took = time.perf_counter() - begin
        size = readers[0].count
        for reader in readers:
            reader.close()
        alone = one_subscriber(env)
    plain = plain_writes(size)
    yield Row(
        f"events to {SUBSCRIBERS} subscribers, to the last one's end",
        f"{took * 1000:.0f} ms",
        f"of the same turn with one subscriber, {alone * 1000:.0f} ms",
        took / alone,
    )
    yield Row(
        "  bytes a second over all of them",
        f"{size * SUBSCRIBERS / took / 1e6:.1f} MB/s",
        f"of plain socket writes, {size * SUBSCRIBERS / plain / 1e6:.1f} MB/s",
        plain / took,
    )


def one_subscriber(env: dict[str, str]) -> float:
    """Seconds of the same turn with one subscriber."""
    with connect(env) as efr:
        first = efr.call("prompt.send", text="hello", new_conversation=True)
        reader = Reader(env, first.conversation_id)
        reader.read_until(b'"kind":"turn_completed"')
        begin = time.perf_counter()
        efr.call("prompt.send", text=PROMPT, conversation_id=first.conversation_id)
        wait_for_all([reader])
        took = time.perf_counter() - begin
        reader.close()
    return took


class Reader:
    """One subscriber that only counts bytes and looks for the turn's end."""

    def __init__(self, env: dict[str, str], conversation_id: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(socket_path(env))
        hello = METHODS["hello"].params(protocol=1, origin="cli")
        follow = METHODS["conversation.subscribe"].params(conversation_id=conversation_id)
        for number, (method, params) in enumerate(
            (("hello", hello), ("conversation.subscribe", follow)), start=1
        ):
            request = frames.request_frame(number, method, encode(params))
            self._socket.sendall(framing.pack(request))
        self.count = 0
        self._tail = b""

    def fileno(self) -> int:
        """For the selector."""
        return self._socket.fileno()

    def read_until(self, wanted: bytes) -> None:
        """Blocks until the bytes came."""
        while not self.step(wanted):
            pass
        self.count = 0

    def step(self, wanted: bytes) -> bool:
        """Reads once; says whether the wanted bytes have come."""
        data = self._socket.recv(1 << 16)
        assert data, "the daemon closed a subscriber"
        self.count += len(data)
        seen = self._tail + data
        self._tail = seen[-64:]
        return wanted in seen

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()


def wait_for_all(readers: list[Reader]) -> None:
    """Reads everybody's bytes until each saw the end of the turn."""
    with selectors.DefaultSelector() as selector:
        for one in readers:
            selector.register(one, selectors.EVENT_READ, one)
        left = len(readers)
        while left:
            for key, _ in selector.select():
                reader: Reader = key.data
                if reader.step(b'"kind":"turn_completed"'):
                    selector.unregister(reader)
                    left -= 1


def plain_writes(size: int) -> float:
    """Seconds to write `size` bytes to every one of 50 sockets and read them, in small pieces."""
    pairs = [socket.socketpair() for _ in range(SUBSCRIBERS)]
    piece = framing.pack(b"x" * 400)
    begin = time.perf_counter()
    for _ in range(max(1, size // len(piece))):
        for writer, _ in pairs:
            writer.sendall(piece)
        for _, reader in pairs:
            reader.recv(1 << 16)
    took = time.perf_counter() - begin
    for writer, reader in pairs:
        writer.close()
        reader.close()
    return took
