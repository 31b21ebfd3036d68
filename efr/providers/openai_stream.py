"""The event stream of the Responses API, read into canonical events.

One reader per answer, fed from one thread; no I/O. Also collects the finished items, which go
back unchanged in the next request.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
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
from efr.providers.errors import ApiError, InvalidStream
from efr.providers.server_values import Event, count, object_of, objects_of, read_object, string
from efr.providers.sse import ServerEvent

log = logging.getLogger("efr.providers.openai")

_SHOWN_TYPE_CHARS: Final = 128  # of an unknown event's type, in a debug line
_CALL_TYPES: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_TEXT_PARTS: Final = {"output_text": "text", "refusal": "refusal"}

_ENDS: Final = ("response.completed", "response.incomplete", "response.failed")
_CONSUMED: Final = frozenset(
    {
        "response.created",
        "response.in_progress",
        "response.queued",
        "response.content_part.added",
        "response.content_part.done",
        "response.output_text.done",
        "response.refusal.done",
        "response.reasoning_text.done",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_part.done",
    }
)


class _Call(Struct):
    """A call that has started."""

    call_id: str
    item_id: str | None
    output_index: int | None
    collected: str = ""
    ended: bool = False


class ResponsesReader:
    """Reads one answer; `finished` after its last event."""

    def __init__(self, read_error: ReadError) -> None:
        self._read_error = read_error
        self._calls: list[_Call] = []
        self._items: list[tuple[int, Event]] = []  # output index and item
        self._spoken: set[str] = set()  # items that sent text or reasoning
        self._open: tuple[str, Json] | None = None  # kind and section of the last delta
        self.finished = False

    def feed(self, event: ServerEvent) -> Iterator[StreamEvent]:
        """The canonical events of one event. Raises a ProviderError that ends the stream."""
        if event.data.strip() == "[DONE]":
            return
        value = read_object(event)
        kind = string(value, "type") or event.type
        handler = _HANDLERS.get(kind)
        if handler is not None:
            yield from handler(self, {**value, "type": kind})
        elif value.get("object") == "response":
            yield from self._whole(value)
        elif value.get("error"):  # of a proxy in between that knows no events
            raise self._read_error(value)
        elif kind not in _CONSUMED:
            log.debug("unknown event %.*s", _SHOWN_TYPE_CHARS, kind)
            yield Raw(value)

    def _whole(self, response: Event) -> Iterator[StreamEvent]:
        """An answer in one piece, of a server in between that does not stream."""
        for index, item in enumerate(objects_of(response, "output")):
            yield from self._item_done({"item": item, "output_index": index})
        kind = f"response.{string(response, 'status')}"
        if kind in _ENDS:
            yield from _HANDLERS[kind](self, {"type": kind, "response": response})

    def end(self) -> Iterator[StreamEvent]:
        """Nothing more can be told: an answer without response.completed is incomplete."""
        return iter(())

    def _text(self, event: Event) -> Iterator[StreamEvent]:
        item = _item_key(event)
        self._spoken.add(item)
        yield from self._say(item, string(event, "delta"))

    def _gap(self, kind: str, section: Json) -> str:
        """A blank line between two sections of one kind that follow each other."""
        before, self._open = self._open, (kind, section)
        same_kind = before is not None and before[0] == kind
        return "\n\n" if same_kind and before != self._open else ""

    def _say(self, item: str, text: str) -> Iterator[StreamEvent]:
        if text:
            yield TextDelta(self._gap("text", item) + text)

    def _reasoning(self, event: Event) -> Iterator[StreamEvent]:
        summary = event["type"] == "response.reasoning_summary_text.delta"
        index = event.get("summary_index" if summary else "content_index")
        item = _item_key(event)
        self._spoken.add(item)
        section = (item, "summary" if summary else "text", index)
        yield from self._think(section, string(event, "delta"))

    def _think(self, section: tuple[str, str, Json], text: str) -> Iterator[StreamEvent]:
        if text:
            yield ReasoningDelta(self._gap("reasoning", section) + text)

    def _item_added(self, event: Event) -> Iterator[StreamEvent]:
        item = event.get("item")
        if isinstance(item, dict) and string(item, "type") in _CALL_TYPES:
            yield self._start(item, event.get("output_index"))

    def _start(self, item: Event, output_index: Json) -> StreamEvent:
        call = _Call(
            call_id=string(item, "call_id"),
            item_id=string(item, "id") or None,
            output_index=output_index if isinstance(output_index, int) else None,
        )
        self._calls.append(call)
        self._open = None  # what follows a call is a block of its own
        return ToolCallStart(
            call.call_id, string(item, "name"), freeform=item["type"] == "custom_tool_call"
        )

    def _call_delta(self, event: Event) -> Iterator[StreamEvent]:
        call = self._find(event)
        delta = string(event, "delta")
        if call is None:
            log.debug("a delta of a call that is not open")
        elif delta:
            call.collected += delta
            yield ToolCallDelta(call.call_id, delta)

    def _call_text(self, event: Event) -> Iterator[StreamEvent]:
        call = self._find(event)
        whole = event.get("arguments", event.get("input"))
        if call is not None and isinstance(whole, str):
            call.collected = whole
        yield from ()

    def _find(self, event: Event) -> _Call | None:
        """By item id, else by output index, else by call id."""
        item_id, index = event.get("item_id"), event.get("output_index")
        open_calls = [call for call in self._calls if not call.ended]
        tests: list[Callable[[_Call], bool]] = [
            lambda call: item_id is not None and call.item_id == item_id,
            lambda call: index is not None and call.output_index == index,
            lambda call: call.call_id == event.get("call_id"),
        ]
        for test in tests:
            for call in open_calls:
                if test(call):
                    return call
        return None

    def _item_done(self, event: Event) -> Iterator[StreamEvent]:
        item = event.get("item")
        if not isinstance(item, dict):
            yield Raw(event)
            return
        index = event.get("output_index")
        self._items.append((index if isinstance(index, int) else len(self._items), item))
        yield from self._whole_item(item, index)

    def _whole_item(self, item: Event, index: Json) -> Iterator[StreamEvent]:
        kind = string(item, "type")
        if kind in _CALL_TYPES:
            yield from self._end_call(item, index, _CALL_TYPES[kind])
            return
        if kind not in ("message", "reasoning"):
            yield Raw(item)
            return
        key = _item_key({"item_id": item.get("id"), "output_index": index})
        if key in self._spoken:
            return
        self._spoken.add(key)
        if kind == "message":
            for part in objects_of(item, "content"):
                member = _TEXT_PARTS.get(string(part, "type"), "text")
                yield from self._say(key, string(part, member))
        else:
            parts = objects_of(item, "summary") or objects_of(item, "content")
            for number, part in enumerate(parts):
                yield from self._think((key, "whole", number), string(part, "text"))

    def _end_call(self, item: Event, index: Json, member: str) -> Iterator[StreamEvent]:
        found = self._find(
            {
                "item_id": item.get("id"),
                "output_index": index,
                "call_id": item.get("call_id"),
            }
        )
        if found is None:
            yield self._start(item, index)
            found = self._calls[-1]
        if item.get("status") == "incomplete":
            return  # cut off: it stays open, so that it never runs
        whole = item.get(member)
        yield self._end(found, whole if isinstance(whole, str) else found.collected)

    def _end(self, call: _Call, arguments: str) -> StreamEvent:
        call.ended = True
        return ToolCallEnd(call.call_id, arguments)

    def _completed(self, event: Event) -> Iterator[StreamEvent]:
        response = object_of(event, "response")
        if not self._items:
            for index, item in enumerate(objects_of(response, "output")):
                self._items.append((index, item))
                yield from self._whole_item(item, index)
        for call in self._calls:
            if not call.ended:
                yield self._end(call, call.collected)
        yield from self._finish(response, "tool_use" if self._calls else "end_turn")

    def _incomplete(self, event: Event) -> Iterator[StreamEvent]:
        response = object_of(event, "response")
        reason = object_of(response, "incomplete_details").get("reason")
        if any(not call.ended for call in self._calls):
            raise InvalidStream("a call was cut off")
        self._drop_last_thoughts()
        match reason:
            case "max_output_tokens":
                yield from self._finish(response, "max_tokens")
            case "content_filter":
                yield from self._finish(response, "content_filter")
            case _:
                raise ApiError(None, "incomplete", f"the answer is incomplete: {reason}"[:1000])

    def _drop_last_thoughts(self) -> None:
        """The API takes no reasoning item back without what it led to."""
        self._items.sort(key=lambda entry: entry[0])
        while self._items and self._items[-1][1].get("type") == "reasoning":
            self._items.pop()

    def _finish(self, response: Event, stop_reason: StopReason) -> Iterator[StreamEvent]:
        usage = response.get("usage")
        if isinstance(usage, dict):
            yield UsageEvent(read_usage(usage))
        items = [dict(item) for _, item in sorted(self._items, key=lambda entry: entry[0])]
        self.finished = True
        yield Done(stop_reason, items or None)

    def _failed(self, event: Event) -> Iterator[StreamEvent]:
        raise self._read_error(object_of(event, "response") or event)


def read_usage(usage: Event) -> CallUsage:
    """The counts of a usage object; missing or null is 0."""
    inputs = object_of(usage, "input_tokens_details")
    outputs = object_of(usage, "output_tokens_details")
    return CallUsage(
        input_tokens=count(usage, "input_tokens"),
        output_tokens=count(usage, "output_tokens"),
        cached_input_tokens=count(inputs, "cached_tokens"),
        reasoning_tokens=count(outputs, "reasoning_tokens"),
        cache_write_tokens=count(inputs, "cache_write_tokens"),
    )


def _item_key(event: Event) -> str:
    item_id = event.get("item_id")
    return item_id if isinstance(item_id, str) and item_id else f"#{event.get('output_index')}"


_Handler = Callable[[ResponsesReader, Event], Iterator[StreamEvent]]

_HANDLERS: Final[Mapping[str, _Handler]] = {
    "response.output_text.delta": ResponsesReader._text,
    "response.refusal.delta": ResponsesReader._text,
    "response.reasoning_summary_text.delta": ResponsesReader._reasoning,
    "response.reasoning_text.delta": ResponsesReader._reasoning,
    "response.output_item.added": ResponsesReader._item_added,
    "response.function_call_arguments.delta": ResponsesReader._call_delta,
    "response.custom_tool_call_input.delta": ResponsesReader._call_delta,
    "response.function_call_arguments.done": ResponsesReader._call_text,
    "response.custom_tool_call_input.done": ResponsesReader._call_text,
    "response.output_item.done": ResponsesReader._item_done,
    "response.completed": ResponsesReader._completed,
    "response.incomplete": ResponsesReader._incomplete,
    "response.failed": ResponsesReader._failed,
    "error": ResponsesReader._failed,
}
