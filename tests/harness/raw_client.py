"""A client made of bytes: it frames JSON by hand, so the product's own client is not trusted."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from types import TracebackType
from typing import Any

LIMIT_S = 20.0  # a test that waits longer has failed

Frame = dict[str, Any]


def pack(value: Any) -> bytes:
    """One frame."""
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return struct.pack(">I", len(body)) + body


class Frames:
    """The frames that come in on a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._held = b""

    def next(self) -> Frame:
        """Blocks for it. EOFError when the other side closed."""
        while True:
            if len(self._held) >= 4:
                (size,) = struct.unpack(">I", self._held[:4])
                if len(self._held) >= 4 + size:
                    body, self._held = self._held[4 : 4 + size], self._held[4 + size :]
                    frame: Frame = json.loads(body)
                    return frame
            data = self._connection.recv(1 << 20)
            if not data:
                raise EOFError(f"{len(self._held)} bytes of a frame")
            self._held += data


class RawClient:
    """A blocking connection; every read has a limit that fails."""

    def __init__(self, path: Path, *, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            self.socket.connect(str(path))  # blocking: with a timeout a full backlog is EAGAIN
        except BaseException:
            self.socket.close()
            raise
        self.socket.settimeout(LIMIT_S)
        self._frames = Frames(self.socket)
        self._next = 1000  # above the ids that tests choose by hand

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, value: Any) -> None:
        self.socket.sendall(pack(value))

    def request(self, method: str, params: Any = None, request_id: int | None = None) -> int:
        """Sends a request and returns its id."""
        if request_id is None:
            request_id = self._next
            self._next += 1
        self.send({"id": request_id, "method": method, "params": params or {}})
        return request_id

    def read(self) -> Frame:
        """The next frame. EOFError when the daemon closed."""
        return self._frames.next()

    def read_to_end(self) -> list[Frame]:
        """Every frame until the daemon closes."""
        frames = []
        try:
            while True:
                frames.append(self.read())
        except (EOFError, ConnectionResetError):
            return frames

    def answer(self, request_id: int) -> Frame:
        """The item of a unary request, or its error frame. Other requests' frames are dropped."""
        found: Frame | None = None
        while True:
            frame = self.read()
            if frame.get("id") != request_id:
                continue
            if "item" in frame:
                found = frame
            elif "error" in frame:
                return frame
            else:
                assert frame == {"id": request_id, "end": True}
                assert found is not None
                return found

    def call(self, method: str, params: Any = None) -> Any:
        """The result of a unary request; an error fails the test."""
        frame = self.answer(self.request(method, params))
        assert "item" in frame, frame
        return frame["item"]

    def refusal(self, method: str, params: Any = None) -> Any:
        """The error body of a unary request; a result fails the test."""
        frame = self.answer(self.request(method, params))
        assert "error" in frame, frame
        return frame["error"]

    def hello(self, origin: str = "cli", **members: Any) -> Any:
        """Says hello and returns the result."""
        return self.call("hello", {"protocol": 1, "origin": origin, **members})


def connected(path: Path, origin: str = "cli", **members: Any) -> RawClient:
    """A client that has said hello."""
    client = RawClient(path)
    try:
        client.hello(origin, **members)
    except BaseException:
        client.close()
        raise
    return client
