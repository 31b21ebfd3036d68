"""One client of the Unix socket: its buffers, its requests in flight, its end.

Touched by the `socket-server` thread alone, which calls `readable` and `advance`. Frames come in
through `FrameReader`, are taken one at a time while there is room for answers, and leave through a
buffer of 64 frames. When that is full nothing is pulled from this connection's streams, its
answers wait and its socket is not read: a client that never reads blocks itself and holds a
bounded amount of memory (docs/protocol.md, "Frames" and "Life of a request").
"""

from __future__ import annotations

import logging
import socket
from collections import deque
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct

from efr.threads.handlers import CANCELLED, INTERNAL
from efr.threads.requests import Answer, Call, Dispatch, Finished, Peer, Stream
from efr.wire import types as t
from efr.wire.errors import BadFrame, ErrorBody, FrameTooLarge, Refusal, TornFrame, no_method
from efr.wire.frames import (
    CancelFrame,
    Request,
    end_frame,
    error_frame,
    item_frame,
    read_client_frame,
)
from efr.wire.framing import MAX_FRAME, FrameReader, pack
from efr.wire.table import METHODS, Method

_log = logging.getLogger("efr.daemon")

_SEND_AT_ONCE = 16  # frames in one sendmsg: small frames share a system call
_MAX_ITEM = MAX_FRAME - len(item_frame(2**64 - 1, b""))
_TOO_LARGE = ErrorBody(
    t.ErrorCode.INTERNAL, "the answer does not fit into a frame of 16 MiB; ask for less"
)


class Limits(Struct, frozen=True):
    """The server's numbers; each protects the daemon from one greedy client."""

    connections: int = 64  # descriptors and buffers
    in_flight: int = 32  # requests of one connection
    out_frames: int = 64  # encoded frames that wait for one socket
    out_bytes: int = 1024 * 1024  # nothing more is pulled above it: 64 frames may be 1 GiB
    read_bytes: int = 64 * 1024  # one recv
    flush_s: float = 5.0  # how long a closing connection may still read
    accept_pause_s: float = 0.1  # after accept found no descriptor


class InFlight:
    """A request that has not had its last frame yet."""

    def __init__(self, request_id: int, call: Call) -> None:
        self.id = request_id
        self.call = call
        self.stream: Stream | None = None
        self.answered = False  # its last frames wait in `answers`
        self.woken = False  # a wake-up of its stream is on its way to the server


class _Broken:
    """Stands behind the last whole frame of a byte stream that went out of step."""


class Connection:
    """The socket of one client and everything that waits for it."""

    def __init__(
        self,
        sock: socket.socket,
        peer: Peer,
        dispatch: Dispatch,
        submit: Callable[[Call], bool],
        post: Callable[[Connection, InFlight, Answer | None], None],
        limits: Limits,
    ) -> None:
        self.socket = sock
        self.peer = peer
        self.close_by: float | None = None  # monotonic; set when the connection is closing
        self.dead = False  # nothing can be sent any more
        self._greeted = False
        self._input_ended = False  # the client sends no more; it may read on
        self._dispatch = dispatch
        self._submit = submit
        self._post = post
        self._limits = limits
        self._reader = FrameReader()
        self._frames: deque[bytes | _Broken] = deque()  # of one recv, not taken yet
        self._requests: dict[int, InFlight] = {}  # at most limits.in_flight
        self._answers: deque[tuple[tuple[bytes, ...], InFlight | None]] = deque()
        self._ready: deque[InFlight] = deque()  # streams that may have an item
        self._out: deque[memoryview] = deque()  # at most limits.out_frames
        self._out_bytes = 0

    # What the server asks.

    @property
    def wants_read(self) -> bool:
        """Whether the socket should be read: only while answers have room."""
        listens = self.close_by is None and not self._input_ended
        return listens and not self._frames and self._has_room()

    @property
    def wants_write(self) -> bool:
        """Whether something waits for the socket."""
        return bool(self._out)

    @property
    def has_more(self) -> bool:
        """Whether `advance` would do something at once."""
        if self._can_pull():
            return True
        return bool(self._frames) and self.close_by is None and self._has_room()

    @property
    def over(self) -> bool:
        """Whether the socket may be closed: it broke, or all that is due was sent."""
        asks_no_more = self._input_ended and not self._frames and not self._requests
        due = self._out or self._answers
        return self.dead or (not due and (asks_no_more or self.close_by is not None))

    def readable(self, now: float, *, hung_up: bool) -> None:
        """Reads once and cuts frames. `hung_up`: the client has closed, and reads no more."""
        if self.wants_read:
            self._read(now)
        if hung_up and self._input_ended:
            self.lose(now)

    def _read(self, now: float) -> None:
        try:
            data = self.socket.recv(self._limits.read_bytes)
        except BlockingIOError:
            return
        except OSError:
            self.lose(now)
            return
        if not data:
            self._end_of_input()
            return
        try:
            self._frames.extend(self._reader.feed(data))
        except FrameTooLarge as exc:
            self._frames.extend(exc.frames)
            self._frames.append(_Broken())

    def advance(self, now: float) -> None:
        """Takes frames, pulls streams and sends, as far as there is room. Never blocks."""
        while self._frames and self.close_by is None and self._has_room():
            self._take(self._frames.popleft(), now)
        self._pull()
        self._send(now)

    def deliver(self, request: InFlight, answer: Answer | None) -> None:
        """A handler's answer, or None for a stream that has something again."""
        if answer is None:
            request.woken = False
            if request.stream is not None and request not in self._ready:
                self._ready.append(request)
        elif request.answered or request.stream is not None or self.dead:
            if not isinstance(answer, bytes | ErrorBody):
                answer.close()  # cancelled while the handler opened it
        elif isinstance(answer, bytes) and len(answer) > _MAX_ITEM:
            self._answer(request, error_frame(request.id, _TOO_LARGE))
        elif isinstance(answer, bytes):
            self._answer(request, item_frame(request.id, answer), end_frame(request.id))
        elif isinstance(answer, ErrorBody):
            self._answer(request, error_frame(request.id, answer))
        else:
            request.stream = answer
            self._ready.append(request)
            answer.set_ready(lambda: self._wake(request))

    def begin_close(self, close_by: float) -> None:
        """Cancels what is in flight and tells the daemon, once; flushes until `close_by`."""
        if self.close_by is not None:
            self.close_by = min(self.close_by, close_by)
            return
        self.close_by = close_by
        self._frames.clear()
        for request in list(self._requests.values()):
            self._cancel(request)
        self._dispatch.closed(self.peer)

    def lose(self, now: float) -> None:
        """The socket broke: nothing can be read or sent any more."""
        self.dead = True
        self.begin_close(now)
        self._answers.clear()
        self._out.clear()
        self._out_bytes = 0

    # Frames in.

    def _end_of_input(self) -> None:
        """The client sends no more; it may still read what is in flight."""
        self._input_ended = True
        try:
            self._reader.eof()
        except TornFrame:
            _log.debug("connection %d ended inside a frame", self.peer.connection_id)

    def _take(self, body: bytes | _Broken, now: float) -> None:
        if isinstance(body, _Broken):
            self._refuse(None, t.ErrorCode.INVALID, "a frame holds at most 16 MiB")
            self.begin_close(now + self._limits.flush_s)
            return
        try:
            frame = read_client_frame(body)
        except BadFrame as exc:
            self._refuse(exc.id, t.ErrorCode.INVALID, exc.why)
            if exc.id is None:
                self.begin_close(now + self._limits.flush_s)
            return
        if isinstance(frame, CancelFrame):
            request = self._requests.get(frame.cancel)
            if request is not None:
                self._cancel(request)
        elif frame.id in self._requests:
            self._refuse(frame.id, t.ErrorCode.INVALID, f"request {frame.id} is still in flight")
        elif frame.method == "hello":
            self._hello(frame, now)
        elif not self._greeted:
            self._refuse(frame.id, t.ErrorCode.UNAUTHORIZED, "say hello first")
        else:
            self._request(frame)

    def _hello(self, frame: Request, now: float) -> None:
        if self._greeted:
            self._refuse(frame.id, t.ErrorCode.CONFLICT, "this connection has said hello already")
            return
        try:
            answer = self._dispatch.hello(self.peer, frame.params)
        except Refusal as refusal:
            self._answer(None, error_frame(frame.id, refusal.body))
            if refusal.body.code == t.ErrorCode.PROTOCOL_MISMATCH:
                self.begin_close(now + self._limits.flush_s)
            return
        self._greeted = True
        self.peer = answer.peer
        self._answer(None, item_frame(frame.id, answer.item), end_frame(frame.id))

    def _request(self, frame: Request) -> None:
        method = METHODS.get(frame.method)
        if method is None:
            self._refuse(frame.id, t.ErrorCode.INVALID, no_method(frame.method))
        elif method.scope not in self.peer.scopes:
            needs = f"{method.name} needs the scope {method.scope.value}"
            self._refuse(frame.id, t.ErrorCode.FORBIDDEN, needs)
        elif len(self._requests) >= self._limits.in_flight:
            self._refuse(
                frame.id,
                t.ErrorCode.BUSY,
                f"{self._limits.in_flight} requests of this connection are in flight",
            )
        else:
            self._start(frame.id, method, frame.params)

    def _start(self, request_id: int, method: Method, params: Mapping[str, Any]) -> None:
        request = InFlight(
            request_id,
            Call(method, params, self.peer, lambda answer: self._post(self, request, answer)),
        )
        if self._submit(request.call):
            self._requests[request_id] = request
        else:
            self._refuse(request_id, t.ErrorCode.BUSY, "efrd has too many requests; try again")

    def _cancel(self, request: InFlight) -> None:
        if request.answered:
            return  # it ended on the way
        self._answer(request, error_frame(request.id, CANCELLED))
        request.call.cancel.cancel()

    # Frames out.

    def _has_room(self) -> bool:
        return (
            not self.dead
            and len(self._out) < self._limits.out_frames
            and len(self._answers) < self._limits.out_frames
            and self._out_bytes < self._limits.out_bytes
        )

    def _refuse(self, request_id: int | None, code: t.ErrorCode, message: str) -> None:
        self._answer(None, error_frame(request_id, ErrorBody(code, message)))

    def _answer(self, request: InFlight | None, *frames: bytes) -> None:
        """The last frames of a request (None: one that never was in flight)."""
        if request is not None:
            request.answered = True
            self._close_stream(request)
        self._answers.append((frames, request))

    def _close_stream(self, request: InFlight) -> None:
        stream, request.stream = request.stream, None
        if request in self._ready:
            self._ready.remove(request)
        if stream is not None:
            stream.close()

    def _wake(self, request: InFlight) -> None:
        """From any thread; at most about one wake-up of a request is on its way at a time."""
        if not request.woken:
            request.woken = True
            self._post(self, request, None)

    def _can_pull(self) -> bool:
        """Whether the out-buffer takes the next answer, or an item of a stream."""
        if self.dead or self._out_bytes >= self._limits.out_bytes:
            return False
        room = self._limits.out_frames - len(self._out)
        if self._answers:
            return room >= len(self._answers[0][0])
        return bool(self._ready) and room > 0

    def _pull(self) -> None:
        """Fills the out-buffer: answers first, then the streams in turn."""
        while self._can_pull():
            if not self._answers:
                self._pull_stream(self._ready.popleft())
                continue
            frames, request = self._answers.popleft()
            if request is not None:
                self._requests.pop(request.id, None)  # free once the client reads this
            for frame in frames:
                self._put(frame)

    def _pull_stream(self, request: InFlight) -> None:
        assert request.stream is not None
        try:
            item = request.stream.next_item()
        except Exception:  # noqa: BLE001 - one broken stream must not end every connection
            _log.exception("the stream of %s broke", request.call.method.name)
            item = Finished(INTERNAL)
        if isinstance(item, bytes) and len(item) > _MAX_ITEM:
            item = Finished(_TOO_LARGE)
        if isinstance(item, bytes):
            self._put(item_frame(request.id, item))
            self._ready.append(request)
        elif isinstance(item, Finished):
            last = error_frame(request.id, item.error) if item.error else end_frame(request.id)
            self._answer(request, last)

    def _put(self, frame: bytes) -> None:
        packed = pack(frame)
        self._out.append(memoryview(packed))
        self._out_bytes += len(packed)

    def _send(self, now: float) -> None:
        while self._out:
            try:
                sent = self.socket.sendmsg(
                    list(islice(self._out, _SEND_AT_ONCE)), [], socket.MSG_NOSIGNAL
                )
            except BlockingIOError:
                return
            except OSError:
                self.lose(now)
                return
            self._out_bytes -= sent
            while sent:
                first = self._out.popleft()
                if sent < len(first):
                    self._out.appendleft(first[sent:])
                    break
                sent -= len(first)
