"""The body of a chat completions call: the plain subset that every compatible server takes.

Pure. The mapping is written down in chat_completions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct

from efr.providers.canonical import (
    Block,
    ImageBlock,
    Json,
    Message,
    ReasoningBlock,
    Request,
    TextBlock,
    ToolCallBlock,
    ToolDefinition,
    ToolResultBlock,
)
from efr.providers.chat_stream import EXTRA_MEMBER
from efr.providers.provider_json import NotJson, compact, parse
from efr.providers.withdrawn import NOT_ANSWERED, offered_names, show_withdrawn

_BLANK_LINE: Final = "\n\n"

ChatMessage = dict[str, Json]


class BodyForm(Struct, frozen=True):
    """Where the bodies of servers differ."""

    asks_usage: bool = True  # for the count of tokens
    limit_name: str = "max_tokens"
    says_parallel: bool = True  # passes the option parallel_tool_calls on
    returns_reasoning: bool = False


def build_body(request: Request, max_tokens: int | None, form: BodyForm) -> str:
    """The JSON text of the body."""
    parallel = request.provider_options.get("parallel_tool_calls") if form.says_parallel else None
    members: dict[str, Json] = {
        "model": request.model,
        "messages": list(chat_messages(request, form.returns_reasoning)),
        "tools": [_tool(tool) for tool in request.tools] or None,
        "parallel_tool_calls": parallel if isinstance(parallel, bool) and request.tools else None,
        form.limit_name: max_tokens,
        "reasoning_effort": request.effort,
        "stream": True,
        "stream_options": {"include_usage": True} if form.asks_usage else None,
    }
    return compact({name: value for name, value in members.items() if value is not None})


def chat_messages(request: Request, returns_reasoning: bool = False) -> Iterator[ChatMessage]:
    """System, then the messages: every call answered right behind it, adjacent roles merged."""
    if request.system:
        yield {"role": "system", "content": request.system}
    shown = show_withdrawn(request.messages, offered_names(request.tools))
    open_ids: list[str] = []
    for role, group in groupby(shown, key=lambda message: message.role):
        messages = list(group)
        blocks = [block for message in messages for block in message.content]
        if role == "user":
            yield from _results(blocks, open_ids)
            open_ids = []
            yield from _user(blocks)
        else:
            calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
            open_ids = [call.call_id for call in calls]
            yield from _assistant(blocks, calls, _extras(messages), returns_reasoning)
    yield from _results([], open_ids)


def _results(blocks: Sequence[Block], open_ids: Sequence[str]) -> Iterator[ChatMessage]:
    results = {block.call_id: block for block in blocks if isinstance(block, ToolResultBlock)}
    for call_id in open_ids:
        block = results.get(call_id, ToolResultBlock(call_id, NOT_ANSWERED, is_error=True))
        output = f"Error: {block.output}" if block.is_error else block.output
        yield {"role": "tool", "tool_call_id": call_id, "content": output}


def _user(blocks: Sequence[Block]) -> Iterator[ChatMessage]:
    texts = _texts(blocks)
    images = [block for block in blocks if isinstance(block, ImageBlock)]
    if images:
        parts: list[Json] = [{"type": "text", "text": text} for text in texts]
        parts += [_image(image) for image in images]
        yield {"role": "user", "content": parts}
    elif texts:
        yield {"role": "user", "content": _BLANK_LINE.join(texts)}


def _extras(messages: Sequence[Message]) -> Mapping[str, Json]:
    """What the server gave along with its calls, by call id."""
    extras: dict[str, Json] = {}
    for message in messages:
        raw = message.provider_raw
        given = raw.get(EXTRA_MEMBER) if isinstance(raw, dict) else None
        if isinstance(given, dict):
            extras |= given
    return extras


def _assistant(
    blocks: Sequence[Block],
    calls: Sequence[ToolCallBlock],
    extras: Mapping[str, Json],
    returns_reasoning: bool,
) -> Iterator[ChatMessage]:
    message: ChatMessage = {"role": "assistant", "content": _BLANK_LINE.join(_texts(blocks))}
    if calls:
        message["tool_calls"] = [_call(call, extras.get(call.call_id)) for call in calls]
    elif not message["content"]:
        return
    if returns_reasoning:
        thoughts = [block.text for block in blocks if isinstance(block, ReasoningBlock)]
        message["reasoning_content"] = _BLANK_LINE.join(thoughts)
    yield message


def _texts(blocks: Sequence[Block]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, TextBlock) and block.text]


def _image(block: ImageBlock) -> Json:
    url = f"data:{block.media_type};base64,{block.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _call(block: ToolCallBlock, extra: Json) -> Json:
    function = {"name": block.name, "arguments": _arguments(block)}
    more = {EXTRA_MEMBER: extra} if extra else {}
    return {"type": "function", "id": block.call_id, "function": function, **more}


def _arguments(block: ToolCallBlock) -> str:
    """The text of an object: chat templates parse it and want its members."""
    if isinstance(block.input, dict):
        return compact(block.input)
    if isinstance(block.input, str) and not block.freeform:
        try:
            value = parse(block.input)
        except NotJson:
            value = None
        if isinstance(value, dict):
            return compact(value)
    return compact({"input": block.input})


def _tool(tool: ToolDefinition) -> Json:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.input_schema),
    }
    return {"type": "function", "function": function}
