"""From a request's params to a method's result: the daemon's side of every transport.

Decides who may call (scopes beyond `read` are taken from model-side peers here, request by
request), decodes params and encodes results. What a method does is in `methods/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from efr.daemon.errors import error_body
from efr.daemon.peers import ModelSide
from efr.threads.requests import LATER, Answer, Call, HelloAnswer, Later, Peer, Stream
from efr.wire import codec
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse
from efr.wire.table import Caller

# The result of a method: a value of its result type, or a stream of its items.
Run = Callable[[Any, Call], Any]

LOCAL_SCOPES = frozenset(t.ScopeName)


class Greeting(Struct, frozen=True):
    """What a hello result says on a local connection."""

    daemon_id: str
    version: str
    capabilities: t.Capabilities
    paths: t.DaemonPaths
    challenge: Callable[[], str]


class Dispatcher:
    """Every method by its name, behind one door."""

    def __init__(
        self,
        methods: Mapping[str, Run],
        greeting: Greeting,
        model_side: ModelSide,
        closed: Callable[[Peer], None],
    ) -> None:
        self._methods = methods
        self._greeting = greeting
        self._model_side = model_side
        self._closed = closed

    def connected(self, connection_id: int, pid: int) -> Peer:
        return Peer(connection_id, pid, self._model_side.started(pid), LOCAL_SCOPES)

    def hello(self, peer: Peer, params: Mapping[str, Any]) -> HelloAnswer:
        try:
            return self._hello(peer, params)
        except Exception as exc:
            raise Refusal(error_body("hello", exc)) from exc

    def run(self, call: Call) -> Answer | Later:
        try:
            return self._run(call)
        except Exception as exc:  # noqa: BLE001 - every error of a method ends here
            return error_body(call.method.name, exc)

    def closed(self, peer: Peer) -> None:
        self._closed(peer)

    def _hello(self, peer: Peer, params: Mapping[str, Any]) -> HelloAnswer:
        theirs = params.get("protocol")
        # Looked at before the rest: another version may have other members.
        if type(theirs) is int and theirs != t.PROTOCOL_VERSION:
            raise refuse(
                t.ErrorCode.PROTOCOL_MISMATCH,
                f"this efrd speaks protocol {t.PROTOCOL_VERSION}, the client {theirs}",
                {"client": theirs, "daemon": t.PROTOCOL_VERSION},
            )
        said = codec.from_builtins(params, m.HelloParams)
        greeting = self._greeting
        result = m.HelloResult(
            daemon_id=greeting.daemon_id,
            protocol=t.PROTOCOL_VERSION,
            version=greeting.version,
            capabilities=greeting.capabilities,
            paths=greeting.paths,
            challenge=greeting.challenge(),
        )
        return HelloAnswer(codec.encode(result), replace(peer, origin=said.origin, tty=said.tty))

    def _run(self, call: Call) -> Answer | Later:
        method = call.method
        self._check_caller(call)
        params = codec.from_builtins(call.params, method.params)
        answer = self._methods[method.name](params, call)
        if answer is LATER or method.stream:
            stream: Stream | Later = answer
            return stream
        return codec.encode(answer)

    def _check_caller(self, call: Call) -> None:
        """Raises Refusal when this kind of peer may never call the method."""
        method, peer = call.method, call.peer
        if (Caller.PHONE if peer.remote else Caller.USER) not in method.callers:
            raise refuse(t.ErrorCode.FORBIDDEN, f"{method.name} is not for this connection")
        if not method.for_model and self._model_side.is_model_side(peer):
            raise refuse(
                t.ErrorCode.FORBIDDEN, f"{method.name} is not for commands that the agent started"
            )
