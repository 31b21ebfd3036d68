"""The event stream of chat completions, read into canonical events with a forgiving eye.

One reader per answer, fed from one thread; no I/O. The mapping, and what compatible servers do
differently, is written down in chat_completions.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct

from efr.providers.canonical import (
    CallUsage,
    Done,
    Json,
    Raw,
    ReasoningDelta,
    StopReason,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    UsageEvent,
)
from efr.providers.error_facts import ReadError
from efr.providers.errors import InvalidStream
from efr.providers.provider_json import compact
from efr.providers.server_values import Event, count, is_object, object_of, read_object
from efr.providers.sse import ServerEvent

log = logging.getLogger("efr.providers.chat")

_STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "length": "max_tokens",
    "content_filter": "content_filter",
}
_REASONING_MEMBERS: Final = ("reasoning_content", "reasoning")
EXTRA_MEMBER: Final = "extra_content"
_LEGACY: Final = "function_call"  # the member before `tool_calls`, with room for one call
_NO_ARGUMENTS: Final = "{}"


class _Call(Struct):
    """A call of this answer, in the order in which the server named it."""

    index: Json
    given_id: str = ""
    call_id: str = ""
    name: str = ""
    collected: str = ""
    extra: Json = None  # opaque to us; Gemini wants its signature back with the call

    @property
    def started(self) -> bool:
        return bool(self.call_id)


class ChatReader:
    """Reads one answer; `finished` after [DONE], or at the end after a finish reason."""

    def __init__(self, read_error: ReadError, id_seed: str) -> None:
        self._read_error = read_error
        self._id_seed = id_seed  # makes ids for servers that send none
        self._calls: list[_Call] = []
        self._usage: CallUsage | None = None
        self._reason: str | None = None
        self.finished = False

    def feed(self, event: ServerEvent) -> Iterator[StreamEvent]:
        """The canonical events of one event. Raises a ProviderError that ends the stream."""
        if event.data.strip() == "[DONE]":
            yield from self._finish()
            return
        yield from self._value(read_object(event))

    def _value(self, value: Event) -> Iterator[StreamEvent]:
        """One chunk, or a whole completion of a server that cannot stream."""
        if value.get("error"):
            raise self._read_error(value)
        usage = value.get("usage")
        if isinstance(usage, dict):
            self._usage = read_usage(usage)
        choices = value.get("choices")
        if not isinstance(choices, list):
            if "usage" not in value:
                yield Raw(value)
            return
        for choice in choices:
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                yield from self._choice(choice)

    def end(self) -> Iterator[StreamEvent]:
        """Some servers end without [DONE]: whole when they gave a finish reason."""
        if self._reason is not None and not self.finished:
            yield from self._finish()

    def _choice(self, choice: Event) -> Iterator[StreamEvent]:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            yield from self._delta(delta)
        if isinstance(choice.get("finish_reason"), str) and choice["finish_reason"]:
            self._reason = choice["finish_reason"]

    def _delta(self, delta: Event) -> Iterator[StreamEvent]:
        for name in _REASONING_MEMBERS:
            if text := _text(delta.get(name)):
                yield ReasoningDelta(text)
                break
        for name in ("content", "refusal"):
            if text := _text(delta.get(name)):
                yield TextDelta(text)
        calls = delta.get("tool_calls")
        for position, entry in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(entry, dict):
                yield from self._call(entry, position)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and all(call.index == _LEGACY for call in self._calls):
            yield from self._call({"index": _LEGACY, "function": legacy}, 0)

    def _call(self, entry: Event, position: int) -> Iterator[StreamEvent]:
        function = object_of(entry, "function")
        call = self._find(entry, position, bool(function.get("name")))
        call.given_id = call.given_id or _text(entry.get("id"))
        call.name = call.name or _text(function.get("name"))
        call.extra = entry.get(EXTRA_MEMBER) or call.extra
        piece = function.get("arguments")
        text = piece if isinstance(piece, str) else "" if piece is None else compact(piece)
        call.collected += text
        if not call.started and call.name:
            call.call_id = self._unique_id(call)
            yield ToolCallStart(call.call_id, call.name)
            text = call.collected
        if call.started and text:
            yield ToolCallDelta(call.call_id, text)

    def _find(self, entry: Event, position: int, named: bool) -> _Call:
        """The call that a piece belongs to, or a new one.

        By index; but a new id with a name is a new call even at a known index (some servers
        number every call 0). Without an index by id; without both, a name begins a new call.
        """
        index, given = entry.get("index"), _text(entry.get("id"))
        if index is not None:
            known = [call for call in self._calls if call.index == index]
            if known and named and given and known[-1].given_id not in ("", given):
                known = []
        elif given:
            known = [call for call in self._calls if call.given_id == given]
        else:
            known = [] if named else self._calls
        if known:
            return known[-1]
        call = _Call(index if index is not None else ("at", len(self._calls), position))
        self._calls.append(call)
        return call

    def _unique_id(self, call: _Call) -> str:
        taken = {other.call_id for other in self._calls}
        wanted = call.given_id or f"call_{self._id_seed}_{self._calls.index(call)}"
        unique, number = wanted, 1
        while unique in taken:
            number += 1
            unique = f"{wanted}_{number}"
        return unique

    def _finish(self) -> Iterator[StreamEvent]:
        cut = self._reason in _STOP_REASONS
        for call in self._calls:
            if not call.started:
                raise InvalidStream("a call without a name")
            if cut and not is_object(call.collected):
                raise InvalidStream("a call was cut off")
            yield ToolCallEnd(call.call_id, call.collected.strip() or _NO_ARGUMENTS)
        if self._usage is not None:
            yield UsageEvent(self._usage)
        fallback: StopReason = "tool_use" if self._calls else "end_turn"
        self.finished = True
        extras = {call.call_id: call.extra for call in self._calls if call.extra}
        raw: Json = {EXTRA_MEMBER: extras} if extras else None
        yield Done(_STOP_REASONS.get(self._reason or "", fallback), raw)


def read_usage(usage: Event) -> CallUsage:
    """The counts of a usage object; missing or null is 0."""
    inputs = object_of(usage, "prompt_tokens_details")
    outputs = object_of(usage, "completion_tokens_details")
    return CallUsage(
        input_tokens=count(usage, "prompt_tokens"),
        output_tokens=count(usage, "completion_tokens"),
        cached_input_tokens=count(inputs, "cached_tokens"),
        reasoning_tokens=count(outputs, "reasoning_tokens"),
        cache_write_tokens=count(inputs, "cache_write_tokens"),
    )


def _text(value: Json) -> str:
    """Text, or the texts of a list of parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""
