"""Tools and a hidden shell whose behaviour the test decides."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from efr.base.cancel import Cancel
from efr.policy.needs import CallNeeds, PathUse
from efr.providers.canonical import ToolDefinition
from efr.shell.contract import BusyCommand, CallEnd, CallWatcher, ShellCall
from efr.shell.errors import BadAnswer, NoSuchCall, NotWaiting, ShellError
from efr.tools.contract import BadInput, ToolContext, ToolResult, Where
from tests.agent.scripted import LIMIT_S

Run = Callable[[Any, ToolContext], ToolResult]
SCHEMA = {"type": "object", "additionalProperties": True}


def _answers(input: Any, ctx: ToolContext) -> ToolResult:
    return ToolResult(output=f"did {input}")


@dataclass
class ScriptedTool:
    """Needs and behaviour as the test sets them; every run is kept."""

    name: str
    needs: CallNeeds | None = None
    do: Run = _answers
    shown: str | None = None
    runs: list[Any] = field(default_factory=list)

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, f"does {self.name}", SCHEMA)

    def declare(self, input: Any, where: Where) -> CallNeeds:
        if isinstance(input, str):
            raise BadInput("the input is not JSON")
        return self.needs or CallNeeds(self.name)

    def preview(self, input: Any, where: Where) -> str | None:
        return self.shown

    def run(self, input: Any, ctx: ToolContext) -> ToolResult:
        self.runs.append(input)
        return self.do(input, ctx)


class ScriptedTools:
    """A registry of `look` (runs at once), `write` (asks), `forbidden` (refused), `edit` and
    `apply_patch`."""

    def __init__(self, secret_dir: str) -> None:
        self.look = ScriptedTool("look")
        self.write = ScriptedTool(
            "write",
            CallNeeds("write", paths=(PathUse("/etc/example.conf", "write"),)),
            shown="--- a\n+++ b\n",
        )
        self.forbidden = ScriptedTool(
            "forbidden", CallNeeds("forbidden", paths=(PathUse(secret_dir, "read"),))
        )
        self.keys = ScriptedTool(
            "keys", CallNeeds("keys", command="sudo true", command_dir="/", interactive=True)
        )
        self.all = [
            self.look,
            self.write,
            self.forbidden,
            self.keys,
            ScriptedTool("edit"),
            ScriptedTool("apply_patch"),
        ]

    def definitions(self) -> Sequence[ToolDefinition]:
        return [tool.definition for tool in self.all]

    def get(self, name: str) -> ScriptedTool | None:
        return next((tool for tool in self.all if tool.name == name), None)


class HeldTool:
    """A run that lasts until the test lets it go or the turn is cancelled (or `stubborn`ly on)."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self._stubborn = stubborn
        self._reached = threading.Event()
        self._go = threading.Event()

    def __call__(self, input: Any, ctx: ToolContext) -> ToolResult:
        forget = ctx.cancel.on_cancel(lambda: None if self._stubborn else self._go.set())
        self._reached.set()
        assert self._go.wait(LIMIT_S), "the test never let the tool go on"
        forget()
        if ctx.cancel.cancelled:
            return ToolResult(output="stopped by SIGINT", is_error=True)
        return ToolResult(output="went on")

    def wait(self) -> None:
        assert self._reached.wait(LIMIT_S), "the tool never ran"

    def go(self) -> None:
        self._go.set()


class ScriptedShell:
    """A hidden shell without a process."""

    def __init__(self, cwd: str) -> None:
        self.cwd = cwd
        self.busy = False
        self.command: BusyCommand | None = None
        self.moves: list[str] = []
        self.answers: list[tuple[str, str, bool, bool]] = []
        self.stops: list[str] = []
        self.refuses: ShellError | None = None

    def move_to(self, directory: str) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.moves.append(directory)
        self.cwd = directory

    def run(self, call: ShellCall, cancel: Cancel, watcher: CallWatcher) -> CallEnd:
        return CallEnd("exited", exit_code=0, output=call.line)

    def check_stop(self, call_id: str, close: bool) -> None:
        if self.refuses is not None:
            raise self.refuses

    def interrupt(self, call_id: str) -> None:
        self.stops.append(call_id)

    def hang_up(self) -> None:
        self.stops.append("close")

    def answer(self, call_id: str, text: str, hidden: bool, manual: bool) -> None:
        if self.refuses is not None:
            raise self.refuses
        self.answers.append((call_id, text, hidden, manual))


class ScriptedShells:
    """One scripted shell per conversation, made when it is asked for."""

    def __init__(self) -> None:
        self.shells: dict[str, ScriptedShell] = {}
        self.started: list[tuple[str, str, str | None]] = []

    def for_conversation(
        self, conversation_id: str, start_dir: str, scratch: str | None
    ) -> ScriptedShell:
        if conversation_id not in self.shells:
            self.started.append((conversation_id, start_dir, scratch))
            self.shells[conversation_id] = ScriptedShell(start_dir)
        return self.shells[conversation_id]

    def peek(self, conversation_id: str) -> ScriptedShell | None:
        return self.shells.get(conversation_id)

    def start_of_next(self, conversation_id: str, start_dir: str) -> str:
        shell = self.shells.get(conversation_id)
        return start_dir if shell is None else shell.cwd


__all__ = [
    "BadAnswer",
    "HeldTool",
    "NoSuchCall",
    "NotWaiting",
    "ScriptedShells",
    "ScriptedTool",
    "ScriptedTools",
]
