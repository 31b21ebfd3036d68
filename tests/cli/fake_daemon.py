"""A scripted daemon: the test itself answers each request, in its own order, over a real socket.

It frames JSON by hand, so the product's own frames are not trusted. Every wait has a limit.
"""

from __future__ import annotations

import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.harness.raw_client import LIMIT_S, Frames, pack

CONVERSATION = "019a9b1c-3d00-7a10-8b20-000000000001"
TURN = "019a9b1c-3d00-7a10-8b20-0000000000a1"
OTHER_TURN = "019a9b1c-3d00-7a10-8b20-0000000000a2"
CALL = "019a9b1c-3d00-7a10-8b20-0000000000c1"
AT = "2026-10-03T12:00:00Z"

Frame = dict[str, Any]


def envelope(seq: int, kind: str, turn: str | None = TURN, **members: Any) -> Frame:
    """An event in its envelope."""
    event = {"kind": kind, **({"turn_id": turn} if turn else {}), **members}
    return {"seq": seq, "conversation_id": CONVERSATION, "at": AT, "event": event}


def summary(conversation_id: str, title: str | None, **members: Any) -> Frame:
    """An idle conversation, as a list has it."""
    return {
        "id": conversation_id,
        **({"title": title} if title else {}),
        "status": "idle",
        "created_at": AT,
        "updated_at": "2020-01-01T00:00:00Z",
        "last_seq": 9,
        **members,
    }


class Peer:
    """The daemon's side of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.connection.settimeout(LIMIT_S)
        self._frames = Frames(connection)
        self.ids: dict[str, int] = {}
        self.subscription = 0
        self.seq = 100

    def read(self) -> Frame:
        """The next frame. EOFError when the client closed."""
        return self._frames.next()

    def expect(self, method: str) -> Frame:
        """The params of the next request, which is for `method`."""
        frame = self.read()
        assert frame.get("method") == method, frame
        self.ids[method] = frame["id"]
        params: Frame = frame["params"]
        return params

    def send(self, *values: Frame) -> None:
        """Sends frames in one piece."""
        self.connection.sendall(b"".join(map(pack, values)))

    def answer(self, method: str, result: Frame) -> None:
        """The result of a unary request. Its client may be gone once it has read the item."""
        self.send({"id": self.ids[method], "item": result}, {"id": self.ids[method], "end": True})

    def refuse(self, method: str, code: str, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message} | ({"data": data} if data else {})
        self.send({"id": self.ids[method], "error": error})

    def hello(self) -> Frame:
        """Answers the hello."""
        params = self.expect("hello")
        result = {
            "daemon_id": CONVERSATION,
            "protocol": 1,
            "version": "0.1.0",
            "capabilities": {"admin": True},
            "paths": {"scratch_root": "/s", "data_dir": "/d"},
            "challenge": "x",
        }
        self.answer("hello", result)
        return params

    def start(
        self,
        *,
        route: Frame | None = None,
        started: bool = True,
        front: Sequence[Frame] = (),
        **result: Any,
    ) -> Frame:
        """Hello, the prompt, its subscription; returns the prompt's params.

        `front`: the events of the conversation that a queued prompt finds.
        """
        self.hello()
        params = self.expect("prompt.send")
        sent = {
            "conversation_id": CONVERSATION,
            "turn_id": TURN,
            "seq": self.seq,
            "queued": False,
            "settings": {"mode": "cautious", "model": "m1"},
            **({"route": route} if route else {}),
            **result,
        }
        self.answer("prompt.send", sent)
        self.subscribed()
        if sent["queued"]:
            self.expect("conversation.history")
            self.answer("conversation.history", {"events": list(front)})
        if started:
            self.turn_started()
        return params

    def subscribed(self) -> Frame:
        params = self.expect("conversation.subscribe")
        self.subscription = self.ids["conversation.subscribe"]
        return params

    def item(self, item: Frame) -> None:
        self.send({"id": self.subscription, "item": item})

    def event(self, kind: str, turn: str | None = TURN, **members: Any) -> int:
        """One event of the conversation; returns its number."""
        self.seq += 1
        self.item({"kind": "event", **envelope(self.seq, kind, turn, **members)})
        return self.seq

    def draft(self, turn: str = TURN, after: int | None = None, **draft: Any) -> None:
        after_seq = self.seq if after is None else after
        self.item({"kind": "draft", "turn_id": turn, "after_seq": after_seq, "draft": draft})

    def text(self, text: str, *, offset: int = 0, index: int = 0) -> None:
        self.draft(kind="text", index=index, offset=offset, delta=text)

    def turn_started(self, turn: str = TURN) -> None:
        self.event("turn_started", turn, cwd="/", scope={"kind": "machine"})

    def say(self, text: str, index: int = 0) -> None:
        """A whole message."""
        self.event("assistant_message_completed", index=index, text=text)

    def call(self, command: str = "make", call_id: str = CALL, **members: Any) -> None:
        self.event(
            "tool_call_started",
            call_id=call_id,
            tool="shell",
            input={"command": command},
            **members,
        )

    def call_done(self, output: str = "", call_id: str = CALL, **members: Any) -> None:
        done = {"output": output, "truncated": False, "is_error": False, **members}
        self.event("tool_call_completed", call_id=call_id, **done)

    def complete(self, **members: Any) -> None:
        """The end of a good turn."""
        usage = {"input_tokens": 1200, "output_tokens": 34}
        self.event("turn_completed", usage=usage, **members)

    def close(self) -> None:
        self.connection.close()


class FakeDaemon:
    """The listening socket, in a short folder of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="efr-", dir="/tmp"))
        self.path = self.folder / "daemon.sock"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self.path))
        self._listener.listen(8)
        self._listener.settimeout(LIMIT_S)
        self._peers: list[Peer] = []

    @property
    def env(self) -> dict[str, str]:
        """The variables that lead a client here."""
        return {"EFR_HOME": str(self.folder / "home"), "EFR_RUNTIME_DIR": str(self.folder)}

    def accept(self) -> Peer:
        connection, _ = self._listener.accept()
        self._peers.append(Peer(connection))
        return self._peers[-1]

    def stop_listening(self) -> None:
        self._listener.close()
        self.path.unlink()

    def __enter__(self) -> FakeDaemon:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        for peer in self._peers:
            peer.close()
        self._listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)
