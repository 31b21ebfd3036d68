"""The event stream of the Messages API, read into canonical events.

One reader per answer, fed from one thread; no I/O. Keeps the text of every block so that the
answer goes back byte for byte: the raw value is one JSON text, not a parsed array.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import Struct, field

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
from efr.providers.server_values import (
    Event,
    count,
    is_object,
    object_of,
    objects_of,
    read_object,
)
from efr.providers.sse import ServerEvent

log = logging.getLogger("efr.providers.anthropic")

_STOP_REASONS: Final[Mapping[str, StopReason]] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
    "pause_turn": "pause_turn",
}
_STREAMED: Final = ("text", "thinking", "tool_use")
_THOUGHTS: Final = ("thinking", "redacted_thinking")
_SHOWN_TYPE_CHARS: Final = 128  # of an unknown event's type, in a debug line


class _Block(Struct):
    """A content block while it streams."""

    start: dict[str, Json]
    parts: list[str] = field(default_factory=list)
    signature: list[str] = field(default_factory=list)
    closed: bool = False

    @property
    def kind(self) -> str:
        return str(self.start.get("type"))

    def text(self) -> str:
        return "".join(self.parts)

    def raw(self) -> str | None:
        """The block's JSON text in the API's member order; None for an empty text block."""
        members: dict[str, str] = {name: compact(value) for name, value in self.start.items()}
        if self.kind == "text":
            whole = str(self.start.get("text") or "") + self.text()
            if not whole:
                return None
            members["text"] = compact(whole)
        elif self.kind == "thinking":
            members["thinking"] = compact(str(self.start.get("thinking") or "") + self.text())
            signature = str(self.start.get("signature") or "") + "".join(self.signature)
            members["signature"] = compact(signature)
        elif self.kind == "tool_use" or self.parts:
            members["input"] = self.arguments()
        inner = ",".join(f"{compact(name)}:{value}" for name, value in members.items())
        return "{" + inner + "}"

    def arguments(self) -> str:
        """The input text that the model wrote, or the one of the block's start."""
        return self.text() or compact(self.start.get("input") or {})


class MessagesReader:
    """Reads one answer; `finished` after its last event."""

    def __init__(self, read_error: ReadError) -> None:
        self._read_error = read_error
        self._blocks: dict[int, _Block] = {}
        self._usage: dict[str, Json] = {}
        self._stop_reason: str | None = None
        self._open_thinking: int | None = None  # the block of the reasoning that was said last
        self.finished = False

    def feed(self, event: ServerEvent) -> Iterator[StreamEvent]:
        """The canonical events of one event. Raises a ProviderError that ends the stream."""
        value = read_object(event)
        match value.get("type", event.type):
            case "message_start":
                self._message_start(value)
            case "content_block_start":
                yield from self._block_start(value)
            case "content_block_delta":
                yield from self._block_delta(value)
            case "content_block_stop":
                yield from self._block_stop(value)
            case "message_delta":
                self._message_delta(value)
            case "message_stop":
                yield from self._message_stop()
            case "error":
                raise self._read_error(value)
            case "ping":
                pass
            case "message" if isinstance(value.get("content"), list):
                yield from self._whole(value)
            case _ if value.get("error"):  # of a proxy in between that knows no events
                raise self._read_error(value)
            case kind:
                log.debug("unknown event %.*s", _SHOWN_TYPE_CHARS, kind)
                yield Raw(value)

    def _whole(self, message: Event) -> Iterator[StreamEvent]:
        """An answer in one piece, of a server in between that does not stream."""
        for index, block in enumerate(objects_of(message, "content")):
            yield from self._block_start({"index": index, "content_block": block})
            yield from self._block_stop({"index": index})
        self._message_delta({"delta": message, "usage": message.get("usage")})
        yield from self._message_stop()

    def end(self) -> Iterator[StreamEvent]:
        """Nothing more can be told: an answer without message_stop is incomplete."""
        return iter(())

    def _message_start(self, event: Event) -> None:
        message = event.get("message")
        if not isinstance(message, dict):
            return
        self._note_usage(message.get("usage"))
        if changes := objects_of(message, "input_transformations"):
            log.warning("the API changed the input: %d blocks", len(changes))

    def _message_delta(self, event: Event) -> None:
        delta = event.get("delta")
        if isinstance(delta, dict) and isinstance(delta.get("stop_reason"), str):
            self._stop_reason = delta["stop_reason"]
        self._note_usage(event.get("usage"))

    def _note_usage(self, usage: Json) -> None:
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _block_start(self, event: Event) -> Iterator[StreamEvent]:
        start = event.get("content_block")
        if not isinstance(start, dict):
            yield Raw(event)
            return
        block = _Block(start)
        self._blocks[_index(event)] = block
        match block.kind:
            case "text":
                yield from self._say(str(start.get("text") or ""))
            case "thinking":
                yield from self._think(_index(event), str(start.get("thinking") or ""))
            case "tool_use":
                self._open_thinking = None
                yield ToolCallStart(str(start.get("id")), str(start.get("name")))
            case "redacted_thinking":
                pass
            case _:
                yield Raw(event)

    def _block_delta(self, event: Event) -> Iterator[StreamEvent]:
        block, delta = self._blocks.get(_index(event)), event.get("delta")
        if block is None or block.closed or not isinstance(delta, dict):
            raise InvalidStream("a delta of a block that is not open")
        match delta.get("type"), block.kind:
            case "text_delta", "text":
                block.parts.append(str(delta.get("text") or ""))
                yield from self._say(block.parts[-1])
            case "thinking_delta", "thinking":
                block.parts.append(str(delta.get("thinking") or ""))
                yield from self._think(_index(event), block.parts[-1])
            case "signature_delta", "thinking":
                block.signature.append(str(delta.get("signature") or ""))
            case "input_json_delta", "tool_use":
                piece = str(delta.get("partial_json") or "")
                block.parts.append(piece)
                if piece:
                    yield ToolCallDelta(str(block.start.get("id")), piece)
            case "input_json_delta", _:  # a call that the API runs itself: it goes back whole
                block.parts.append(str(delta.get("partial_json") or ""))
                yield Raw(event)
            case "citations_delta", _:
                pass
            case _:
                yield Raw(event)

    def _block_stop(self, event: Event) -> Iterator[StreamEvent]:
        block = self._blocks.get(_index(event))
        if block is None or block.closed:
            raise InvalidStream("an end of a block that is not open")
        block.closed = True
        if block.kind == "tool_use":
            arguments = block.arguments()
            if not is_object(arguments):
                raise InvalidStream("a call was cut off")
            yield ToolCallEnd(str(block.start.get("id")), arguments)
        elif block.kind not in _STREAMED and not is_object(block.text()):
            block.parts.clear()

    def _message_stop(self) -> Iterator[StreamEvent]:
        calls = [block for block in self._blocks.values() if block.kind == "tool_use"]
        if any(not block.closed for block in calls):
            raise InvalidStream("a call was cut off")
        yield UsageEvent(read_usage(self._usage))
        fallback: StopReason = "tool_use" if calls else "end_turn"
        reason = _STOP_REASONS.get(self._stop_reason or "", fallback)
        self.finished = True
        yield Done(reason, self._raw(cut=reason in ("max_tokens", "refusal")))

    def _raw(self, cut: bool) -> str | None:
        """The text of the blocks. An answer that was cut while it thought loses that thought:
        its signature may be missing, and the API takes no answer back that ends in one."""
        texts = [(block.kind, block.raw()) for _, block in sorted(self._blocks.items())]
        whole = [(kind, text) for kind, text in texts if text is not None]
        while cut and whole and whole[-1][0] in _THOUGHTS:
            whole.pop()
        return f"[{','.join(text for _, text in whole)}]" if whole else None

    def _say(self, text: str) -> Iterator[StreamEvent]:
        if text:
            self._open_thinking = None
            yield TextDelta(text)

    def _think(self, index: int, text: str) -> Iterator[StreamEvent]:
        if text:
            gap = "\n\n" if self._open_thinking not in (None, index) else ""
            self._open_thinking = index
            yield ReasoningDelta(gap + text)


def read_usage(usage: Event) -> CallUsage:
    """The counts, with cached and written parts in the input as every provider has them."""
    written = count(usage, "cache_creation_input_tokens")
    cached = count(usage, "cache_read_input_tokens")
    creation = object_of(usage, "cache_creation")
    details = object_of(usage, "output_tokens_details")
    return CallUsage(
        input_tokens=count(usage, "input_tokens") + written + cached,
        output_tokens=count(usage, "output_tokens"),
        cached_input_tokens=cached,
        reasoning_tokens=count(details, "thinking_tokens"),
        cache_write_tokens=written,
        cache_write_1h_tokens=count(creation, "ephemeral_1h_input_tokens"),
    )


def _index(event: Event) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0
