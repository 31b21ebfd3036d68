"""Requests on one connection: calls that block, streams, and the plain frames below both.

Owns the ids of its requests and the frames that came for each. No thread of its own; one thread
at a time may use a connection. Params are built from the method table, so a wrong name or value
fails here and not at the daemon; results come back as the types of `efr.wire`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from efr.base.clock import SystemClock
from efr.base.ids import Ids, SystemIds
from efr.base.version import VERSION
from efr.client.address import socket_path
from efr.client.errors import BadReply, ConnectionLost, NoAnswer, Refused
from efr.client.link import Link
from efr.wire import frames
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import encode, from_builtins
from efr.wire.errors import BadFrame, BadValue
from efr.wire.table import METHODS

if TYPE_CHECKING:
    from efr.client.follow import Item

ANSWER_SILENCE_S = 30.0  # the daemon's slowest calls are key checks, which end in 20 s
SLOW_S = 1.0  # after which a person wants to know what takes so long


class Reply(Struct, frozen=True):
    """One frame for one request: an item, the end, or an error."""

    id: int
    item: Any = None  # as JSON values; `Connection.typed` makes it a type of efr.wire
    ended: bool = False
    error: Refused | None = None


class Connection:
    """An open connection. Use as a context manager, or call `close`."""

    def __init__(
        self, link: Link, ids: Ids, *, path: str = "", hello: m.HelloParams | None = None
    ) -> None:
        self._link = link
        self._ids = ids
        self._path = path
        self._next_id = 1
        self._methods: dict[int, str] = {}  # requests in flight
        self._held: dict[int, deque[Reply]] = {}  # what came for a request nobody asked about yet
        self._hello = hello  # what a new connection says

    @classmethod
    def open(cls, path: str, ids: Ids | None = None) -> Connection:
        """Connects, without a hello. Raises NoDaemon."""
        return cls(Link.open(path), ids or SystemIds(SystemClock()), path=path)

    def fileno(self) -> int:
        """For a selector: readable means `receive` does not block."""
        return self._link.fileno()

    def hello(
        self,
        origin: t.Origin = t.Origin.CLI,
        *,
        client: str | None = None,
        tty: str | None = None,
        capabilities: t.Capabilities | None = None,
    ) -> m.HelloResult:
        """Says who this is. Blocks. Raises Refused (`protocol_mismatch`: another build)."""
        self._hello = m.HelloParams(
            protocol=t.PROTOCOL_VERSION,
            origin=origin,
            client=client or f"efr {VERSION}",
            capabilities=capabilities or t.Capabilities(),
            tty=tty,
            pid=os.getpid(),
        )
        answer: m.HelloResult = self._unary("hello", self._hello)
        return answer

    def call(self, method: str, /, **members: Any) -> Any:
        """The result of a unary method, as the type that the method table names. Blocks.

        A `command_id` is made when the method takes one and none is given. Raises Refused,
        ConnectionLost, NoAnswer, BadReply; BadValue when a member does not fit.
        """
        return self._unary(method, self.params(method, **members))

    def call_long(self, method: str, tell: Callable[[], None], /, **members: Any) -> Any:
        """As `call`, for what takes as long as it takes: only a lost connection ends the wait.

        `tell` is called each time that SLOW_S passed without an answer. So a Ctrl+C that comes
        right before the wait, which the kernel knows nothing of, counts that late at most.
        """
        request = self.start(method, self.params(method, **members))
        return self.typed(method, self._answer(method, request, tell))

    def call_json(self, method: str, /, **members: Any) -> Any:
        """As `call`, but the result as plain JSON values, members of newer versions included."""
        return self._answer(method, self.start(method, self.params(method, **members)))

    def stream(self, method: str, /, **members: Any) -> Stream:
        """The items of a streaming method."""
        return Stream(self, method, self.start(method, self.params(method, **members)))

    def follow(
        self, conversation_id: str, *, after_seq: int | None = None, drafts: bool = False
    ) -> Iterator[Item]:
        """A conversation's events (and drafts) from here on, over a lost connection too.

        Reconnects and resumes behind the last event; ends after `conversation_deleted`.
        """
        from efr.client.follow import Follower

        follower = Follower(self.again, conversation_id, after_seq=after_seq, drafts=drafts)
        return follower.items(self)

    def again(self) -> Connection:
        """A new connection to the same socket with the same hello. Raises as `open`, `hello`."""
        fresh = Connection.open(self._path, self._ids)
        try:
            if self._hello is not None:
                said = self._hello
                fresh.hello(
                    said.origin, client=said.client, tty=said.tty, capabilities=said.capabilities
                )
        except BaseException:
            fresh.close()
            raise
        return fresh

    def params(self, method: str, /, **members: Any) -> Any:
        """The params of a method, with a fresh `command_id` where one belongs."""
        entry = METHODS[method]
        if entry.command_id:
            members.setdefault("command_id", self._ids.new())
        return entry.params(**members)

    def start(self, method: str, params: Any) -> int:
        """Sends a request and returns its id; its replies come out of `receive`."""
        request = self._next_id
        self._next_id += 1
        self._methods[request] = method
        self._link.send(frames.request_frame(request, method, encode(params)))
        return request

    def start_buffer(self, method: str, params: memoryview) -> int:
        """As `start`, for params in a buffer that must not be copied."""
        request = self._next_id
        self._next_id += 1
        self._methods[request] = method
        head = b'{"id":%d,"method":%b,"params":' % (request, encode(method))
        self._link.send_parts(head, params, b"}")
        return request

    def adopt(self, request: int, method: str) -> None:
        """Takes over a request that was sent on the link before this object was made."""
        self._methods[request] = method
        self._next_id = max(self._next_id, request + 1)

    def cancel(self, request: int) -> None:
        """Asks the daemon to stop a request; its last reply still comes."""
        if request in self._methods:
            self._link.send(frames.cancel_frame(request))

    def receive(self) -> list[Reply]:
        """The replies that one read completes: maybe none. Blocks as `Link.receive` does."""
        replies = [self._reply(body) for body in self._link.receive()]
        return [reply for reply in replies if reply is not None]

    def held(self) -> list[Reply]:
        """The replies to other requests that came while a call waited for its own, in order."""
        replies = [reply for kept in self._held.values() for reply in kept]
        self._held.clear()
        return replies

    def typed(self, method: str, item: Any) -> Any:
        """An item as the type of its method. Raises BadReply when it does not fit."""
        try:
            return from_builtins(item, METHODS[method].result)
        except BadValue as exc:
            raise BadReply(method, str(exc)) from exc

    def _reply(self, body: bytes) -> Reply | None:
        """One frame as a reply; None for one that says nothing new."""
        try:
            frame = frames.read_server_frame(body)
        except BadFrame as exc:
            raise BadReply("", str(exc)) from exc
        if isinstance(frame, frames.ErrorFrame):
            return self._error(frame)
        if isinstance(frame, frames.AckFrame) or frame.id not in self._methods:
            return None
        if isinstance(frame, frames.EndFrame):
            del self._methods[frame.id]
            return Reply(frame.id, ended=True)
        return Reply(frame.id, item=frame.item)

    def _error(self, frame: frames.ErrorFrame) -> Reply | None:
        error = frame.error
        if frame.id is None:  # the daemon closes now
            raise Refused("", error.code.value, error.message, error.data)
        method = self._methods.pop(frame.id, None)
        if method is None:
            return None
        refused = Refused(method, error.code.value, error.message, error.data)
        return Reply(frame.id, error=refused)

    def _unary(self, method: str, params: Any) -> Any:
        return self.typed(method, self._answer(method, self.start(method, params)))

    def _answer(self, method: str, request: int, tell: Callable[[], None] | None = None) -> Any:
        """The one item of a unary request. `tell`: who hears of a slow one, which may take long."""
        items: list[Any] = []
        silence_s = ANSWER_SILENCE_S if tell is None else SLOW_S
        while True:
            try:
                reply = self.next_reply(request, silence_s)
            except NoAnswer:
                if tell is None:
                    raise
                tell()
                continue
            if reply.error is not None:
                raise reply.error
            if reply.ended:
                break
            items.append(reply.item)
        if len(items) != 1:
            raise BadReply(method, f"{len(items)} results")
        return items[0]

    def next_reply(self, request: int, silence_s: float | None = None) -> Reply:
        """Blocks for the next reply of one request; replies of others are kept for them.

        Raises NoAnswer after `silence_s` seconds without a byte from the daemon.
        """
        held = self._held.get(request)
        while not held:
            if not self._link.wait(silence_s):
                raise NoAnswer(silence_s or 0)
            for reply in self.receive():
                self._held.setdefault(reply.id, deque()).append(reply)
            held = self._held.get(request)
        reply = held.popleft()
        if reply.ended or reply.error is not None:
            del self._held[request]
        return reply

    def close(self) -> None:
        """Closes the connection; the daemon cancels what is in flight. May be called twice."""
        self._link.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()


class Stream:
    """The items of one streaming request. Iterating blocks; leaving the `with` cancels it."""

    def __init__(self, connection: Connection, method: str, request: int) -> None:
        self._connection = connection
        self._method = method
        self.request = request
        self._over = False

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        """The next item. Raises Refused when the stream ends with an error."""
        if self._over:
            raise StopIteration
        reply = self._connection.next_reply(self.request)
        if reply.error is not None:
            self._over = True
            raise reply.error
        if reply.ended:
            self._over = True
            raise StopIteration
        return self._connection.typed(self._method, reply.item)

    def close(self) -> None:
        """Cancels the request and reads its last reply. May be called twice."""
        if self._over:
            return
        self._over = True
        try:
            self._connection.cancel(self.request)
            reply = self._connection.next_reply(self.request, ANSWER_SILENCE_S)
            while not reply.ended and reply.error is None:
                reply = self._connection.next_reply(self.request, ANSWER_SILENCE_S)
        except ConnectionLost:
            return  # nothing is left to cancel

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def connect(env: Mapping[str, str]) -> Connection:
    """Connects to the daemon of an environment, such as `os.environ`, and says hello. Blocks.

    Raises NoAddress, NoDaemon, Refused.
    """
    connection = Connection.open(socket_path(env))
    try:
        connection.hello()
    except BaseException:
        connection.close()
        raise
    return connection
