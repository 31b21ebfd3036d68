"""The requests of a session and what happens with their answers.

Owns the connection. A write whose answer was lost goes again with the same command id after a
reconnect, so the daemon never does it twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from efr.client.connection import Connection, Reply
from efr.client.errors import Refused

Done = Callable[[Any], None]
Failed = Callable[[Refused], None]


class _Asked(Struct, frozen=True):
    method: str
    params: Any
    done: Done
    failed: Failed
    over: Callable[[], None]
    again: bool


def _ignore(value: Any) -> None:
    """An answer that nobody waits for."""


def _nothing() -> None:
    """The end of a request that nobody waits for."""


class Talk:
    """Requests in flight on one connection."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._asked: dict[int, _Asked] = {}

    def ask(
        self,
        method: str,
        done: Done = _ignore,
        failed: Failed = _ignore,
        over: Callable[[], None] = _nothing,
        **members: Any,
    ) -> int:
        """Sends a request. `done` gets each item, typed; `failed` the refusal; `over` the end."""
        params = self.connection.params(method, **members)
        request = self.connection.start(method, params)
        again = hasattr(params, "command_id")
        self._asked[request] = _Asked(method, params, done, failed, over, again)
        return request

    def adopt(self, request: int, method: str, params: Any, done: Done, failed: Failed) -> None:
        """Takes over a request that is under way."""
        self.connection.adopt(request, method)
        self._asked[request] = _Asked(method, params, done, failed, _nothing, params is not None)

    def watch(self, request: int, method: str, failed: Failed) -> None:
        """A request that was sent in another way: its refusal matters, its result does not."""
        self._asked[request] = _Asked(method, None, _ignore, failed, _nothing, again=False)

    def forget(self, request: int) -> None:
        """Nobody wants the answers of a request any more."""
        self._asked.pop(request, None)

    def handle(self, reply: Reply, raw: Callable[[Any], None] | None = None) -> None:
        """Gives one reply to who asked. `raw` sees an item of a stream before it is typed."""
        asked = self._asked.get(reply.id)
        if asked is None:
            return
        if reply.ended or reply.error is not None:
            del self._asked[reply.id]
        if reply.error is not None:
            asked.failed(reply.error)
        elif reply.ended:
            asked.over()
        else:
            if raw is not None and asked.method == "conversation.subscribe":
                raw(reply.item)
            asked.done(self.connection.typed(asked.method, reply.item))

    def move_to(self, connection: Connection) -> None:
        """Goes on over a new connection and sends the unanswered writes again."""
        self.connection.close()
        self.connection = connection
        lost, self._asked = self._asked, {}
        for asked in lost.values():
            if asked.again:
                self._asked[connection.start(asked.method, asked.params)] = asked
