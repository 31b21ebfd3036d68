"""The body of a Messages API call, as text: the assistant's own blocks go back byte for byte.

Pure. Blocks are JSON texts until the end, because a signed thinking block may not change by one
byte. Cache markers come from anthropic_cache; without them, each request is a prefix of the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from efr.providers.anthropic_cache import Lifetimes, Marked, Markers, place_markers
from efr.providers.canonical import (
    Block,
    ImageBlock,
    Json,
    Message,
    Request,
    Role,
    TextBlock,
    ToolCallBlock,
    ToolDefinition,
    ToolResultBlock,
)
from efr.providers.provider_json import compact, parse
from efr.providers.withdrawn import NOT_ANSWERED, call_text, offered_names, show_withdrawn

_BAD_ID_CHARACTER: Final = re.compile(r"[^a-zA-Z0-9_-]")
_SCANNER: Final = json.JSONDecoder()
_THINKING: Final = (
    '{"type":"adaptive","display":"summarized",'
    '"block_binding":{"prefix_mismatch_behavior":"drop_block"}}'
)


class ApiMessage(Struct):
    """One message of the API: its blocks as JSON texts, and the calls they make and answer."""

    role: Role
    blocks: list[str] = field(default_factory=list)
    results: dict[str, str] = field(default_factory=dict)  # tool id to block, before the others
    call_ids: list[str] = field(default_factory=list)

    def texts(self) -> list[str]:
        return [*self.results.values(), *self.blocks]

    def json(self, marker: str = "") -> str:
        """The message; the marker goes to the end of its last block."""
        texts = self.texts()
        if marker and texts:
            texts[-1] = f"{texts[-1][:-1]},{marker}}}"
        return f'{{"role":"{self.role}","content":[{",".join(texts)}]}}'


class Body(Struct, frozen=True):
    """A body and the debug text of its markers."""

    text: str
    markers: str


def build_body(request: Request, max_tokens: int, effort: str, lifetimes: Lifetimes) -> Body:
    """The JSON text of the body, members in the documented order."""
    messages = api_messages(request)
    tools = [_tool(tool) for tool in request.tools]
    marked = [Marked(m.role == "user", bool(m.results), m.json()) for m in messages]
    markers = place_markers(marked, bool(request.system or tools), request.side_call, lifetimes)
    system_text = _text_block(request.system) if request.system else None
    if system_text is not None:
        system_text = _with_marker(system_text, markers.system)
    elif tools:
        tools[-1] = _with_marker(tools[-1], markers.system)
    members = [
        f'"model":{compact(request.model)}',
        '"stream":true',
        f'"max_tokens":{max_tokens}',
    ]
    if system_text is not None:
        members.append(f'"system":[{system_text}]')
    if tools:
        members += [f'"tools":[{",".join(tools)}]', '"tool_choice":{"type":"auto"}']
    members += [
        f'"thinking":{_THINKING}',
        f'"output_config":{{"effort":{compact(effort)}}}',
        f'"messages":[{_messages_text(messages, markers)}]',
    ]
    return Body("{" + ",".join(members) + "}", markers.describe())


def api_messages(request: Request) -> list[ApiMessage]:
    """The messages as the API wants them: alternating, results first, every call answered."""
    offered = offered_names(request.tools)
    messages: list[ApiMessage] = []
    for message in show_withdrawn(request.messages, offered):
        converted = _converted(message, offered)
        if not converted.texts():
            continue
        if messages and messages[-1].role == converted.role:
            messages[-1].blocks += converted.blocks
            messages[-1].results |= converted.results
            messages[-1].call_ids += converted.call_ids
        else:
            messages.append(converted)
    return _answered(messages)


def _answered(messages: list[ApiMessage]) -> list[ApiMessage]:
    """The messages with a failed result for each call that the next message leaves open."""
    whole: list[ApiMessage] = []
    open_ids: list[str] = []
    for message in messages:
        if message.role == "user":
            missing = [call_id for call_id in open_ids if call_id not in message.results]
            message.results |= {i: _result(i, NOT_ANSWERED, True) for i in missing}
        whole.append(message)
        open_ids = message.call_ids
    if open_ids:
        results = {call_id: _result(call_id, NOT_ANSWERED, True) for call_id in open_ids}
        whole.append(ApiMessage("user", results=results))
    return whole


def _messages_text(messages: Sequence[ApiMessage], markers: Markers) -> str:
    return ",".join(
        message.json(_marker(markers.messages.get(index))) for index, message in enumerate(messages)
    )


def _converted(message: Message, offered: frozenset[str]) -> ApiMessage:
    converted = ApiMessage(message.role)
    own = _own_blocks(message)
    for text in own:
        _add_raw(converted, text, offered)
    if not own:
        for block in message.content:
            _add(converted, block)
    return converted


def _own_blocks(message: Message) -> list[str]:
    """The blocks as this API wrote them; none when there is no such text."""
    raw = message.provider_raw
    if message.role != "assistant" or not isinstance(raw, str):
        return []
    try:
        blocks = list(raw_blocks(raw))
    except ValueError:
        return []
    return blocks if all(block.startswith("{") for block in blocks) else []


def raw_blocks(raw: str) -> Iterator[str]:
    """The exact texts of the elements of a JSON array. Raises ValueError for anything else."""
    at = raw.index("[") + 1
    while (at := _skip(raw, at)) < len(raw) and raw[at] != "]":
        _, end = _SCANNER.raw_decode(raw, at)
        yield raw[at:end]
        at = end


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _add_raw(message: ApiMessage, text: str, offered: frozenset[str]) -> None:
    block = parse(text)
    kind = block.get("type")
    if kind == "text" and not str(block.get("text") or "").strip():
        return  # refused by the API, like one that is empty
    if kind == "tool_use":
        if str(block.get("name")) not in offered:
            gone = call_text(str(block.get("id")), str(block.get("name")), block.get("input"))
            message.blocks.append(_text_block(gone))
            return
        message.call_ids.append(str(block.get("id")))
    message.blocks.append(text)


def _add(message: ApiMessage, block: Block) -> None:
    match block:
        case TextBlock(text=text):
            if text.strip():
                message.blocks.append(_text_block(text))
        case ImageBlock(media_type=media_type, data=data):
            if message.role == "user":
                source = {"type": "base64", "media_type": media_type, "data": data}
                message.blocks.append(compact({"type": "image", "source": source}))
        case ToolCallBlock(call_id=call_id, name=name, input=argument):
            tool_id = _tool_id(call_id)
            message.call_ids.append(tool_id)
            message.blocks.append(_call(tool_id, name, argument))
        case ToolResultBlock(call_id=call_id, output=output, is_error=is_error):
            tool_id = _tool_id(call_id)
            message.results[tool_id] = _result(tool_id, output, is_error)
        case _:
            pass  # reasoning without its signature is refused by the API


def _text_block(text: str) -> str:
    return compact({"type": "text", "text": text})


def _call(tool_id: str, name: str, argument: Json) -> str:
    value = argument if isinstance(argument, dict) else {"input": argument}
    return compact({"type": "tool_use", "id": tool_id, "name": name, "input": value})


def _result(tool_id: str, output: str, is_error: bool) -> str:
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": tool_id}
    if output:
        block["content"] = output
    if is_error:
        block["is_error"] = True
    return compact(block)


def _tool_id(call_id: str) -> str:
    return _BAD_ID_CHARACTER.sub("_", call_id)


def _tool(tool: ToolDefinition) -> str:
    return compact(
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": dict(tool.input_schema),
        }
    )


def _marker(ttl: str | None) -> str:
    return f'"cache_control":{{"type":"ephemeral","ttl":"{ttl}"}}' if ttl else ""


def _with_marker(text: str, ttl: str | None) -> str:
    return f"{text[:-1]},{_marker(ttl)}}}" if ttl else text
