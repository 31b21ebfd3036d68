"""A real daemon as the target of damaged frames. What it answers is what the readers foretell."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from random import Random
from typing import Final, Self

from efr.daemon.methods.table import SERVED
from efr.wire import types as t
from efr.wire.codec import from_builtins
from efr.wire.errors import BadFrame, BadValue
from efr.wire.frames import (
    CancelFrame,
    EndFrame,
    ErrorFrame,
    ItemFrame,
    Request,
    ServerFrame,
    read_client_frame,
    read_server_frame,
)
from efr.wire.framing import FrameReader, pack
from efr.wire.table import METHODS, Caller
from tests.harness.daemon import Daemon
from tests.harness.raw_client import LIMIT_S
from tests.wire.damage import damaged_request

HELLO: Final = json.dumps(
    {"id": 0, "method": "hello", "params": {"protocol": 1, "origin": "cli"}}
).encode()
# It would ask a provider over the network whether the key is right.
LEFT_OUT: Final = frozenset({"admin.login_api_key"})


class Closed(Exception):
    """The daemon closed the connection."""


class Target:
    """A daemon and one connection to it, made again when the daemon closes it."""

    def __init__(self, folder: Path) -> None:
        self._daemon = Daemon(folder)
        self._socket: socket.socket | None = None
        self._reader = FrameReader()
        self._held: list[ServerFrame] = []

    def __enter__(self) -> Self:
        self._daemon.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()
        self._daemon.close()

    def check(self, number: int, seed: int) -> bool:
        """One frame, or now and then its bytes out of step; whether a method took it."""
        _whole, body = damaged_request(number, seed)
        random = Random((seed << 40) + number)
        if random.random() < 0.03:
            self._throw_out_of_step(pack(body), random)
            return False
        return self._throw(body)

    def assert_well(self) -> None:
        """The daemon still answers, and has logged no fault."""
        self._throw(b'{"id":1,"method":"models.list","params":{}}')
        assert "Traceback" not in self._daemon.log, self._daemon.log[-4000:]

    def _throw(self, body: bytes) -> bool:
        try:
            frame = read_client_frame(body)
        except BadFrame as bad:
            self._send(body)
            self._expect_refusal(bad)
            return False
        if isinstance(frame, CancelFrame):
            self._send(body)  # nothing is in flight, so nothing comes
            return True
        if frame.method in LEFT_OUT:
            return False
        self._send(body)
        return self._expect_answer(frame)

    def _expect_refusal(self, bad: BadFrame) -> None:
        error = self._next()
        assert isinstance(error, ErrorFrame), error
        assert (error.id, error.error.code) == (bad.id, t.ErrorCode.INVALID)
        assert error.error.message == bad.why
        if bad.id is None:
            try:
                raise AssertionError(f"{self._next()} after the last frame")
            except Closed:
                self._hang_up()

    def _expect_answer(self, request: Request) -> bool:
        code, message = foretold(request)
        items = 0
        while True:
            frame = self._next()
            assert not isinstance(frame, EndFrame | ItemFrame) or frame.id == request.id
            if isinstance(frame, ItemFrame):
                from_builtins(frame.item, METHODS[request.method].result)
                items += 1
                if METHODS[request.method].stream:
                    self._send(b'{"cancel":%d}' % request.id)
                continue
            if isinstance(frame, EndFrame):
                assert code is None
                assert items == 1 or METHODS[request.method].stream
                return True
            assert isinstance(frame, ErrorFrame), frame
            assert frame.id == request.id
            assert frame.error.code is not t.ErrorCode.INTERNAL, frame
            if code is not None:
                assert frame.error.code is code, frame
                assert message in frame.error.message, frame
            return items > 0

    def _throw_out_of_step(self, packed: bytes, random: Random) -> None:
        """A frame whose length is wrong, and the end of what this client sends."""
        broken = bytearray(packed)
        broken[random.randrange(4)] ^= 1 << random.randrange(8)
        self._send_bytes(bytes(broken) + packed)
        try:
            assert self._socket is not None
            self._socket.shutdown(socket.SHUT_WR)
            while True:
                frame = self._next()
                if isinstance(frame, ErrorFrame):
                    assert frame.error.code is not t.ErrorCode.INTERNAL, frame
                elif isinstance(frame, ItemFrame):
                    self._hang_up()  # perhaps a stream, which has no end
                    return
        except Closed:
            self._hang_up()

    # The connection.

    def _send(self, body: bytes) -> None:
        self._send_bytes(pack(body))

    def _send_bytes(self, data: bytes) -> None:
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(str(self._daemon.socket))
            self._socket.settimeout(LIMIT_S)
            self._reader = FrameReader()
            self._socket.sendall(pack(HELLO))
            assert isinstance(self._next(), ItemFrame)
            assert isinstance(self._next(), EndFrame)
        self._socket.sendall(data)

    def _next(self) -> ServerFrame:
        assert self._socket is not None
        while not self._held:
            try:
                data = self._socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise Closed
            self._held += map(read_server_frame, self._reader.feed(data))
        return self._held.pop(0)

    def _hang_up(self) -> None:
        self._held.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def foretold(request: Request) -> tuple[t.ErrorCode | None, str]:
    """The code that a request must get, and a part of the message; None: its method decides."""
    method = METHODS.get(request.method)
    if method is None:
        return t.ErrorCode.INVALID, repr(request.method)
    if method.name == "hello":
        return t.ErrorCode.CONFLICT, ""
    if Caller.USER not in method.callers:
        return t.ErrorCode.FORBIDDEN, method.name
    try:
        from_builtins(request.params, method.params)
    except BadValue as bad:
        return t.ErrorCode.INVALID, str(bad)
    return (None, "") if method.name in SERVED else (t.ErrorCode.INVALID, "yet")
