"""The built-in demo: an offline provider that behaves like a model, by rules.

Streams on the thread that iterates, word by word, and ends at once when cancelled. It reads the
same messages as a model and keeps nothing: which step comes next is worked out from the tool
results of the turn. Its first words in a turn say that it is the demo and how to log in. What it
can do stands in demo_rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from efr.base.cancel import Cancel
from efr.providers.canonical import (
    CallUsage,
    Done,
    EditTool,
    Message,
    ModelFacts,
    ReasoningDelta,
    Request,
    StreamEvent,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResultBlock,
    UsageEvent,
    encode_message,
)
from efr.providers.demo_rules import DemoCall, DemoResult, rule_for
from efr.providers.provider import EventStream
from efr.providers.provider_json import compact
from efr.providers.retry import Pause, pause
from efr.text.cut import cut_end
from efr.text.visible import visible_line

BANNER: Final = (
    "This is efr's offline demo, not a model: log in with `efr login openai-api` or "
    "`efr login anthropic-api`."
)
MODEL: Final = ModelFacts(
    id="demo",
    display_name="Offline demo",
    context_window=128_000,
    max_context_window=128_000,
    edit_tool="edit",
)

_WORD_S: Final = 0.004  # a reply looks like a stream, and a long one can be interrupted
_LINE_S: Final = 0.02  # of a text with many lines, such as a count
_MANY_LINES: Final = 50
_BYTES_PER_TOKEN: Final = 4
_WORDS: Final = re.compile(r"\S+\s*|\s+")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_NOT_A_PROMPT: Final = ("<live_state>", "<fresh-context>", "<conversation-summary>")
_ASKED: Final = "- the user asked: "
_RAN: Final = "- ran: "
_QUOTED: Final = 200  # characters of a prompt or a command
_LINES_KEPT: Final = 60  # the summary stays a summary
_SECTIONS: Final = (
    "Decisions",
    "Important details",
    "Files and places",
    "Open work and next step",
    "Shell and directories",
    "System tasks",
)


class DemoProvider:
    """The provider demo; stateless, any number of threads."""

    def __init__(
        self, models: Callable[[], Sequence[ModelFacts]] = lambda: (MODEL,), wait: Pause = pause
    ) -> None:
        self._models = models
        self._wait = wait

    @property
    def id(self) -> str:
        return "demo"

    def models(self) -> Sequence[ModelFacts]:
        return self._models()

    def default_edit_tool(self) -> EditTool:
        return "edit"

    def stream(self, request: Request, cancel: Cancel) -> EventStream:
        """One answer by the rules. Raises Cancelled."""
        output = 0
        stop: Done | None = None
        for event in self._answer(request, cancel):
            if isinstance(event, Done):
                stop = event
                continue
            if isinstance(event, TextDelta | ReasoningDelta):
                output += len(event.text)
            yield event
        size = sum(len(encode_message(message)) for message in request.messages)
        size += len(request.system or "")
        yield UsageEvent(CallUsage(_tokens(size), _tokens(output)))
        yield stop or Done("end_turn")

    def _answer(self, request: Request, cancel: Cancel) -> Iterator[StreamEvent]:
        if request.side_call:
            yield from self._speak(_summary(request.messages), cancel)
            return
        prompt, at, steered = _prompt(request.messages)
        rule, match = rule_for(prompt)
        steps = rule.steps(match)
        results = _results(request.messages[at + 1 :])
        done = sum(bool(message.calls) for message in request.messages[at + 1 :])
        missing = {call.tool for step in steps for call in step} - {t.name for t in request.tools}
        begins = done == 0 and not steered
        yield ReasoningDelta(rule.thought)
        if begins:
            yield from self._speak(BANNER + "\n\n", cancel)
        if missing:
            names = ", ".join(sorted(missing))
            yield from self._speak(f"I would need a tool that is not on offer: {names}.", cancel)
        elif done < len(steps):
            if begins and rule.intro:
                yield from self._speak(rule.intro, cancel)
            yield from _call(steps[done], _calls_before(request.messages))
            yield Done("tool_use")
        else:
            yield from self._speak(rule.say(match, results), cancel)

    def _speak(self, text: str, cancel: Cancel) -> Iterator[StreamEvent]:
        many = text.count("\n") > _MANY_LINES
        for piece in (_LINES if many else _WORDS).findall(text):
            cancel.raise_if_cancelled()
            yield TextDelta(piece)
            self._wait(cancel, _LINE_S if many else _WORD_S)
        cancel.raise_if_cancelled()


def _call(calls: Sequence[DemoCall], number: int) -> Iterator[StreamEvent]:
    """Parallel calls interleave, as a model's may."""
    ids = [f"demo_{number + index}" for index in range(len(calls))]
    texts = [compact(dict(call.input)) for call in calls]
    for call_id, call in zip(ids, calls, strict=True):
        yield ToolCallStart(call_id, call.tool)
    for call_id, text in zip(ids, texts, strict=True):
        yield ToolCallDelta(call_id, text)
    for call_id, text in zip(ids, texts, strict=True):
        yield ToolCallEnd(call_id, text)


def _prompt(messages: Sequence[Message]) -> tuple[str, int, bool]:
    """The newest words of the user, the place of their message, and whether they steer a turn."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        words = _words(message) if message.role == "user" else []
        if words:
            steered = any(isinstance(block, ToolResultBlock) for block in message.content)
            return words[-1], at, steered
    return "", -1, False


def _words(message: Message) -> list[str]:
    return [
        block.text
        for block in message.content
        if isinstance(block, TextBlock)
        and block.text.strip()
        and not block.text.lstrip().startswith(_NOT_A_PROMPT)
    ]


def _results(messages: Sequence[Message]) -> list[DemoResult]:
    """The results of the turn so far, in the order of their calls."""
    blocks = {
        block.call_id: block
        for message in messages
        for block in message.content
        if isinstance(block, ToolResultBlock)
    }
    return [
        DemoResult(_demo_call(call), blocks[call.call_id].output, blocks[call.call_id].is_error)
        for message in messages
        for call in message.calls
        if call.call_id in blocks
    ]


def _demo_call(call: ToolCallBlock) -> DemoCall:
    return DemoCall(call.name, call.input if isinstance(call.input, dict) else {})


def _calls_before(messages: Sequence[Message]) -> int:
    return sum(len(message.calls) for message in messages)


def _summary(messages: Sequence[Message]) -> str:
    """A summary in the asked sections: an earlier one's lines, prompts and commands that ran."""
    lines = [line for m in messages for line in _summary_lines(m)]
    for message in messages[:-1]:
        asked = _words(message)[-1:] if message.role == "user" else []
        lines += [f"{_ASKED}{cut_end(visible_line(text), _QUOTED)}" for text in asked]
        lines += [
            f"{_RAN}{cut_end(visible_line(str(call.input['command'])), _QUOTED)}"
            for call in message.calls
            if isinstance(call.input, dict) and "command" in call.input
        ]
    rest = "\n\n".join(f"## {name}\nnone" for name in _SECTIONS)
    return "## Task and state\n" + "\n".join(lines[-_LINES_KEPT:] or ["none"]) + f"\n\n{rest}"


def _summary_lines(message: Message) -> list[str]:
    """What an earlier summary of the demo said."""
    if not message.text.startswith("<conversation-summary>"):
        return []
    return [line for line in message.text.split("\n") if line.startswith((_ASKED, _RAN))]


def _tokens(size: int) -> int:
    return -(-size // _BYTES_PER_TOKEN)
