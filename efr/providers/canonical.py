"""The canonical model: messages, requests, model facts and stream events of every provider.

Pure values without I/O; any thread. Owns the JSON form that is saved per turn, the order rules
of a stream and its fold into one assistant message. How a provider spells these things on its
own API belongs in that provider's module.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from efr.providers.errors import Incomplete, InvalidStream
from efr.providers.provider_json import NotJson, parse
from efr.wire import codec

Json = Any
Role = Literal["user", "assistant"]
Effort = str  # plain text: a backend may name levels that this version does not know
EditTool = Literal["apply_patch", "edit"]
StopReason = Literal[
    "end_turn", "tool_use", "max_tokens", "content_filter", "refusal", "pause_turn"
]

_COUNT_MAX: Final = 2**64 - 1  # a sum of counts stops here, as the wire's u64 does


class TextBlock(Struct, frozen=True, tag_field="kind", tag="text"):
    """Plain text of either role."""

    text: str


class ToolCallBlock(Struct, frozen=True, tag_field="kind", tag="tool_call", omit_defaults=True):
    """A call by the model; call_id is the provider's own id.

    input is any JSON value; a plain string when the arguments were not JSON or the call is
    freeform.
    """

    call_id: str
    name: str
    input: Json
    freeform: bool = False


class ToolResultBlock(Struct, frozen=True, tag_field="kind", tag="tool_result", omit_defaults=True):
    """The answer to a call; it travels in a user message."""

    call_id: str
    output: str
    is_error: bool = False


class ReasoningBlock(Struct, frozen=True, tag_field="kind", tag="reasoning"):
    """A visible summary; signed or encrypted reasoning lives in provider_raw alone."""

    text: str


class ImageBlock(Struct, frozen=True, tag_field="kind", tag="image"):
    """A picture; data is standard base64."""

    media_type: str
    data: str


Block = TextBlock | ToolCallBlock | ToolResultBlock | ReasoningBlock | ImageBlock


class Message(Struct, frozen=True, omit_defaults=True):
    """One message; provider_raw is opaque to all but the provider and model that wrote it."""

    role: Role
    content: tuple[Block, ...]
    provider_raw: Json = None

    @property
    def text(self) -> str:
        """The text blocks joined by one blank line."""
        return "\n\n".join(block.text for block in self.content if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[ToolCallBlock, ...]:
        return tuple(block for block in self.content if isinstance(block, ToolCallBlock))

    def without_raw(self) -> Message:
        """The form for another provider or model."""
        return self if self.provider_raw is None else Message(self.role, self.content)


class Grammar(Struct, frozen=True):
    """The language of a freeform tool's input."""

    syntax: Literal["lark", "regex"]
    definition: str


class ToolDefinition(Struct, frozen=True, omit_defaults=True):
    """A tool on offer; with a grammar, input_schema is the function form {"input": text}."""

    name: str
    description: str
    input_schema: Mapping[str, Json]
    grammar: Grammar | None = None


class Request(Struct, frozen=True, omit_defaults=True):
    """One model call. A provider ignores option keys that it does not know."""

    model: str
    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    max_output_tokens: int | None = None
    effort: Effort | None = None
    side_call: bool = False  # a summary: it must not disturb the cache of the main line
    provider_options: Mapping[str, Json] = {}
    conversation_id: str | None = None


class ModelFacts(Struct, frozen=True, omit_defaults=True):
    """What is known of a model; empty efforts and None mean not known."""

    id: str
    display_name: str | None = None
    description: str | None = None
    efforts: tuple[Effort, ...] = ()
    default_effort: Effort | None = None
    context_window: int | None = None
    max_context_window: int | None = None
    max_output_tokens: int | None = None
    freeform_tools: bool = False
    prefer_websockets: bool = False
    edit_tool: EditTool | None = None


class CallUsage(Struct, frozen=True, omit_defaults=True):
    """Tokens of one model call or a sum of calls; cached and written parts are in the input."""

    input_tokens: int = 0
    output_tokens: int = 0  # reasoning included
    cached_input_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0  # part of cache_write_tokens

    @property
    def context_tokens(self) -> int:
        """What this one call left in the context; meaningless on a sum."""
        return min(self.input_tokens + self.output_tokens, _COUNT_MAX)

    def plus(self, other: CallUsage) -> CallUsage:
        """The sum; it stops at the largest u64."""
        return CallUsage(
            **{
                name: min(getattr(self, name) + getattr(other, name), _COUNT_MAX)
                for name in CallUsage.__struct_fields__
            }
        )


class TextDelta(Struct, frozen=True):
    text: str


class ReasoningDelta(Struct, frozen=True):
    text: str


class ToolCallStart(Struct, frozen=True, omit_defaults=True):
    call_id: str
    name: str
    freeform: bool = False


class ToolCallDelta(Struct, frozen=True):
    call_id: str
    arguments: str


class ToolCallEnd(Struct, frozen=True):
    """The complete argument text: it replaces what the deltas gave."""

    call_id: str
    arguments: str


class UsageEvent(Struct, frozen=True):
    usage: CallUsage


class Done(Struct, frozen=True, omit_defaults=True):
    """The last event of a stream that ended well."""

    stop_reason: StopReason
    provider_raw: Json = None


class Raw(Struct, frozen=True):
    """Something the provider sent that has no canonical form; only logged."""

    value: Json


StreamEvent = (
    TextDelta
    | ReasoningDelta
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | UsageEvent
    | Done
    | Raw
)

_EVENT_KINDS: Final[Mapping[str, type[StreamEvent]]] = {
    "text_delta": TextDelta,
    "reasoning_delta": ReasoningDelta,
    "tool_call_start": ToolCallStart,
    "tool_call_delta": ToolCallDelta,
    "tool_call_end": ToolCallEnd,
    "usage": UsageEvent,
    "done": Done,
    "raw": Raw,
}
_KIND_OF: Final = {kind_type: kind for kind, kind_type in _EVENT_KINDS.items()}


class _Transcript(Struct, frozen=True):
    kind: str
    data: Json


def encode_message(message: Message) -> bytes:
    """Compact JSON of one message."""
    return codec.encode(message)


def decode_message(body: bytes) -> Message:
    """Raises BadValue when the bytes are not a message."""
    return codec.decode(body, Message)


def encode_event(event: StreamEvent) -> bytes:
    """The transcript form {"kind": …, "data": …}."""
    data = event.usage if isinstance(event, UsageEvent) else event
    return codec.encode(_Transcript(_KIND_OF[type(event)], codec.to_builtins(data)))


def decode_event(body: bytes) -> StreamEvent:
    """Raises BadValue for broken data, KeyError for a kind that does not exist."""
    line = codec.decode(body, _Transcript)
    kind_type = _EVENT_KINDS[line.kind]
    if kind_type is UsageEvent:
        return UsageEvent(codec.from_builtins(line.data, CallUsage))
    return codec.from_builtins(line.data, kind_type)


def parse_arguments(arguments: str, freeform: bool = False) -> Json:
    """The input of a call: JSON when it parses, else (and when freeform) the text itself."""
    if freeform:
        return arguments
    try:
        return parse(arguments)
    except NotJson:
        return arguments


class Folded(Struct, frozen=True):
    """A whole answer."""

    message: Message
    stop_reason: StopReason
    usage: CallUsage | None


_TextKind = type[TextBlock] | type[ReasoningBlock]


class _OpenCall:
    __slots__ = ("arguments", "done", "start")

    def __init__(self, start: ToolCallStart) -> None:
        self.start = start
        self.arguments: list[str] = []
        self.done = False

    def block(self) -> ToolCallBlock:
        return ToolCallBlock(
            call_id=self.start.call_id,
            name=self.start.name,
            input=parse_arguments("".join(self.arguments), self.start.freeform),
            freeform=self.start.freeform,
        )


class _OpenText:
    __slots__ = ("kind", "parts")

    def __init__(self, kind: _TextKind) -> None:
        self.kind = kind
        self.parts: list[str] = []

    def block(self) -> Block:
        return self.kind("".join(self.parts))


class StreamFold:
    """Folds one stream into one assistant message and holds it to the order rules.

    Not thread-safe: one caller feeds it. Text is readable at any time, also after an error.
    """

    def __init__(self) -> None:
        self._content: list[_OpenText | _OpenCall] = []
        self._calls: dict[str, _OpenCall] = {}
        self._usage: CallUsage | None = None
        self._done: Done | None = None

    @property
    def usage(self) -> CallUsage | None:
        """The last usage so far."""
        return self._usage

    @property
    def text(self) -> str:
        """The text so far, blocks joined by a blank line."""
        return "\n\n".join(
            "".join(part.parts)
            for part in self._content
            if isinstance(part, _OpenText) and part.kind is TextBlock
        )

    def feed(self, event: StreamEvent) -> None:
        """Takes one event in. Raises InvalidStream when it breaks the order."""
        if self._done is not None:
            raise InvalidStream("an event after the end")
        match event:
            case TextDelta(text=text):
                self._append(TextBlock, text)
            case ReasoningDelta(text=text):
                self._append(ReasoningBlock, text)
            case ToolCallStart():
                self._start(event)
            case ToolCallDelta(call_id=call_id, arguments=arguments):
                self._open_call(call_id, "a delta").arguments.append(arguments)
            case ToolCallEnd(call_id=call_id, arguments=arguments):
                call = self._open_call(call_id, "an end")
                call.arguments = [arguments]
                call.done = True
            case UsageEvent(usage=usage):
                self._usage = usage
            case Done():
                self._finish(event)
            case Raw():
                pass

    def result(self) -> Folded:
        """The whole answer. Raises Incomplete before the end of the stream."""
        if self._done is None:
            raise Incomplete
        content = tuple(part.block() for part in self._content)
        message = Message("assistant", content, self._done.provider_raw)
        return Folded(message, self._done.stop_reason, self._usage)

    def partial(self) -> Message:
        """What a stream that failed or was cut has given: text and reasoning, never a call."""
        parts = (part.block() for part in self._content if isinstance(part, _OpenText))
        return Message("assistant", tuple(parts))

    def _append(self, kind: _TextKind, text: str) -> None:
        if not text:
            return
        last = self._content[-1] if self._content else None
        if not isinstance(last, _OpenText) or last.kind is not kind:
            last = _OpenText(kind)
            self._content.append(last)
        last.parts.append(text)

    def _start(self, event: ToolCallStart) -> None:
        if event.call_id in self._calls:
            raise InvalidStream("a call started twice")
        call = _OpenCall(event)
        self._calls[event.call_id] = call
        self._content.append(call)

    def _open_call(self, call_id: str, what: str) -> _OpenCall:
        call = self._calls.get(call_id)
        if call is None or call.done:
            raise InvalidStream(f"{what} of a call that is not open")
        return call

    def _finish(self, event: Done) -> None:
        if any(not call.done for call in self._calls.values()):
            raise InvalidStream("a call was cut off")
        self._done = event


def fold(events: Iterable[StreamEvent]) -> Folded:
    """Folds a whole stream. Raises InvalidStream, Incomplete."""
    stream = StreamFold()
    for event in events:
        stream.feed(event)
    return stream.result()
