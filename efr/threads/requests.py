"""The shapes between a transport, the handler threads and the daemon's methods.

A transport (the Unix socket server; a phone's connection) makes one `Call` per request and gives
it to a handler thread, which asks the `Dispatch`. The answer is an encoded item, a `Stream` that
the transport pulls, an error, or `LATER`. Nothing here knows a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from itertools import count
from typing import Any, Final, Protocol

from msgspec import Struct, field

from efr.base.cancel import Cancel
from efr.wire import types as t
from efr.wire.errors import ErrorBody
from efr.wire.table import Method


class Peer(Struct, frozen=True):
    """Who is at the other end of a connection. `origin` and `tty` are known after its hello."""

    connection_id: int
    pid: int  # 0: in another pid namespace
    pid_start: int | None  # start of that process in clock ticks; None: it was gone already
    scopes: frozenset[t.ScopeName]
    remote: bool = False
    origin: t.Origin | None = None
    tty: str | None = None


class Finished(Struct, frozen=True):
    """A stream's last word: no error is a plain end."""

    error: ErrorBody | None = None


class Stream(Protocol):
    """Items of one request, pulled by the transport's thread when its socket can take one.

    All but the wake-up runs on that thread and must not block.
    """

    def set_ready(self, wake: Callable[[], None]) -> None:
        """Takes what to call, from any thread, when `next_item` has something again."""

    def next_item(self) -> bytes | Finished | None:
        """The next encoded item; None: nothing now; `Finished`: nothing any more."""

    def close(self) -> None:
        """The request is over (also after `Finished`): let go of everything. Called once."""


class Later(Enum):
    """The type of LATER."""

    LATER = 0


LATER: Final = Later.LATER  # the handler gives its thread back; `Call.finish` comes later

Answer = bytes | Stream | ErrorBody


class Call(Struct):
    """One request in flight. `finish` may come from any thread; the first one counts.

    `number` grows in the order in which a transport made its calls, which is the order in which
    they came; handlers may take them up in another one.
    """

    method: Method
    params: Mapping[str, Any]
    peer: Peer
    deliver: Callable[[Answer], None]
    cancel: Cancel = field(default_factory=Cancel)
    number: int = field(default_factory=count().__next__)

    def finish(self, answer: Answer) -> None:
        """Hands the answer to the transport. Never blocks; nothing happens after a cancel."""
        self.deliver(answer)


class HelloAnswer(Struct, frozen=True):
    """The encoded hello result, and the peer as the hello described it."""

    item: bytes
    peer: Peer


class Dispatch(Protocol):
    """The daemon's side of every transport."""

    def connected(self, connection_id: int, pid: int) -> Peer:
        """The peer of a fresh local connection. On the transport's thread; must not block.

        Raises OSError when nobody can say now who it is.
        """

    def hello(self, peer: Peer, params: Mapping[str, Any]) -> HelloAnswer:
        """Answers a hello. Raises Refusal. On the transport's thread; must not block."""

    def run(self, call: Call) -> Answer | Later:
        """Runs the method, on a handler thread. Raises Refusal."""

    def closed(self, peer: Peer) -> None:
        """The connection ended; told once. On the transport's thread; must not block."""
