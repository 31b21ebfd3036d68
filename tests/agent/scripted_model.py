"""A provider whose every answer a test writes down, and gates to stop it where the test wants."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from efr.base.cancel import Cancel
from efr.config.schema import Settings
from efr.providers.canonical import (
    CallUsage,
    Done,
    EditTool,
    ModelFacts,
    Request,
    StopReason,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageEvent,
)
from efr.providers.model_list import ListedModel, ModelList, Resolved, resolve
from efr.providers.provider import EventStream
from efr.providers.registry import Active
from efr.wire import types as t
from tests.agent.scripted import LIMIT_S

Step = StreamEvent | Exception | Callable[[Cancel], None]
MODEL = ModelFacts("scripted-1", efforts=("low", "high"), context_window=272_000, edit_tool="edit")


def usage(input_tokens: int = 100, output_tokens: int = 10) -> UsageEvent:
    return UsageEvent(CallUsage(input_tokens=input_tokens, output_tokens=output_tokens))


def said(text: str, stop: StopReason = "end_turn") -> list[Step]:
    """An answer of text alone."""
    return [TextDelta(text), usage(), Done(stop)]


def calls(*tools: tuple[str, str], text: str = "") -> list[Step]:
    """An answer that calls tools; each is (name, JSON of the input)."""
    steps: list[Step] = [TextDelta(text)] if text else []
    for number, (name, arguments) in enumerate(tools):
        call_id = f"call-{number}"
        steps += [
            ToolCallStart(call_id, name),
            ToolCallDelta(call_id, arguments),
            ToolCallEnd(call_id, arguments),
        ]
    return [*steps, usage(), Done("tool_use")]


class Hold:
    """Stops a stream until the test lets it go on, or the turn is cancelled."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._go = threading.Event()
        self.cancelled = threading.Event()  # the stream was cut, as a socket's shutdown would

    def __call__(self, cancel: Cancel) -> None:
        def cut() -> None:
            self.cancelled.set()
            self._go.set()

        forget = cancel.on_cancel(cut)
        self._reached.set()
        assert self._go.wait(LIMIT_S), "the test never let the stream go on"
        forget()
        cancel.raise_if_cancelled()

    def wait(self) -> None:
        """Blocks until the stream stands here."""
        assert self._reached.wait(LIMIT_S), "the stream never came here"

    def go(self) -> None:
        self._go.set()


class ScriptedProvider:
    """Answers each call with the next script; requests are kept for the test to look at."""

    def __init__(self, *models: ModelFacts) -> None:
        self.facts: tuple[ModelFacts, ...] = models or (MODEL,)
        self.requests: list[Request] = []
        self._scripts: queue.Queue[Sequence[Step]] = queue.Queue()
        self.closed = 0

    @property
    def id(self) -> str:
        return "compatible"

    def models(self) -> Sequence[ModelFacts]:
        return self.facts

    def default_edit_tool(self) -> EditTool:
        return "edit"

    def answers(self, *scripts: Sequence[Step]) -> None:
        """The next answers, one per model call."""
        for script in scripts:
            self._scripts.put(script)

    def forget(self) -> None:
        """Drops the answers that nobody asked for."""
        while not self._scripts.empty():
            self._scripts.get_nowait()

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        try:
            cancel.raise_if_cancelled()
            self.requests.append(request)
            try:
                script = self._scripts.get(timeout=LIMIT_S)
            except queue.Empty:
                raise AssertionError(
                    "the model was asked once more than the test answers"
                ) from None
            for step in script:
                if isinstance(step, Exception):
                    raise step
                if callable(step):
                    step(cancel)
                    continue
                cancel.raise_if_cancelled()
                yield step
        finally:
            self.closed += 1


class ScriptedModels:
    """The registry of providers with this one active; models and efforts are checked as real."""

    def __init__(self, provider: ScriptedProvider, settings: Callable[[], Settings]) -> None:
        self.provider = provider
        self._settings = settings
        self.missing = False  # whether the first list is still to be fetched

    def active(self) -> Active:
        return Active(self.provider, "a test chose it")

    def get(self, provider: str) -> ScriptedProvider:
        assert provider == self.provider.id
        return self.provider

    def resolve(self, model: str | None, effort: str | None) -> Resolved:
        listed = tuple(ListedModel(facts, t.ModelSource.BUILTIN) for facts in self.provider.facts)
        settings = self._settings()
        default = settings.model.name or next((one.facts.id for one in listed), None)
        models = ModelList(self.provider.id, listed, default)
        return resolve(models, model, effort, settings.model.effort)

    def needs_list(self, model: str | None) -> bool:
        return self.missing


def texts_of(request: Request) -> list[tuple[str, str]]:
    """Role and text of every message; calls and results in words."""
    return [(message.role, _words(message)) for message in request.messages]


def _words(message: Any) -> str:
    parts = []
    for block in message.content:
        match block.__struct_config__.tag:
            case "text":
                text = block.text
                parts.append("<live_state>" if text.startswith("<live_state>") else text)
            case "tool_call":
                parts.append(f"call {block.name}")
            case "tool_result":
                parts.append(f"result{'!' if block.is_error else ''} {block.output}")
            case tag:
                parts.append(tag)
    return "|".join(parts)


__all__ = [
    "MODEL",
    "Hold",
    "ScriptedModels",
    "ScriptedProvider",
    "calls",
    "said",
    "texts_of",
    "usage",
]
