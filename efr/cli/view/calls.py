"""The tool calls of a turn while they run. Pure; times are monotonic seconds."""

from __future__ import annotations

from msgspec import Struct

from efr.cli.render.calls import CallName, call_name
from efr.wire import events as ev
from efr.wire import types as t


class Call(Struct):
    """One call. `started_at` is moved to the moment of a yes; `quiet_since` to its last output."""

    call_id: str
    tool: str
    name: CallName
    started_at: float
    quiet_since: float
    manual_input: bool = False
    tail: str = ""
    wait: t.InputWait = t.InputWait.NONE
    looks_secret: bool = False
    asks: bool = False  # its question is open
    allowed: bool = False  # a yes came
    refused: bool = False  # a no, or nothing in time
    interactive: bool = False  # the question said that it may wait for keys

    def elapsed_s(self, now: float) -> float:
        """How long it runs."""
        return max(now - self.started_at, 0.0)


class Calls:
    """The open calls, oldest first."""

    def __init__(self) -> None:
        self._calls: dict[str, Call] = {}

    def start(self, event: ev.ToolCallStarted, now: float) -> Call:
        """A call begins."""
        name = call_name(event.tool, event.input, freeform=event.freeform)
        call = Call(event.call_id, event.tool, name, now, now, event.manual_input)
        self._calls[event.call_id] = call
        return call

    def get(self, call_id: str) -> Call | None:
        """The open call of that id."""
        return self._calls.get(call_id)

    def end(self, call_id: str) -> Call | None:
        """Takes a call out."""
        return self._calls.pop(call_id, None)

    @property
    def running(self) -> Call | None:
        """The newest call that runs and asks nothing."""
        return next((c for c in reversed(self._calls.values()) if not c.asks), None)

    @property
    def waiting(self) -> Call | None:
        """The call whose command waits for a line."""
        waits = (c for c in self._calls.values() if c.wait is not t.InputWait.NONE)
        return next(waits, None)
