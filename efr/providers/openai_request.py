"""The body of a Responses API call: member order, options, messages to items.

Pure. The same code serves the subscription and the public API; what differs comes in as values.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from efr.providers.canonical import (
    ImageBlock,
    Json,
    Message,
    Request,
    TextBlock,
    ToolCallBlock,
    ToolDefinition,
    ToolResultBlock,
)
from efr.providers.provider_json import NotJson, compact, parse
from efr.providers.withdrawn import call_text, offered_names, show_withdrawn

log = logging.getLogger("efr.providers.openai")

_REASONING_PREFIXES: Final = ("gpt-5", "gpt-6", "o1", "o3", "o4", "codex-")
_CALL_ITEMS: Final = ("function_call", "custom_tool_call")
_OPTION_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "reasoning_effort": (str, type(None)),  # null switches the default off
    "reasoning_summary": (str, type(None)),
    "parallel_tool_calls": (bool,),
    "prompt_cache_key": (str,),
    "service_tier": (str,),
    "text_verbosity": (str,),
}

Item = dict[str, Json]


class BodyFacts(Struct, frozen=True):
    """What the body needs to know beside the request."""

    freeform: bool  # the model takes grammar tools
    max_output_tokens: int | None  # None: not sent


def is_reasoning_model(model: str) -> bool:
    """Whether the model takes the reasoning members (by the form of its id)."""
    return model.startswith(_REASONING_PREFIXES) and "-chat" not in model


def cache_key(request: Request) -> str | None:
    """The prompt cache key: the option, else the conversation."""
    key: str | None = _options(request).get("prompt_cache_key", request.conversation_id)
    return key


def build_body(request: Request, facts: BodyFacts) -> str:
    """The JSON text of the body, members in the API's documented order."""
    options = _options(request)
    reasoning = _reasoning(request, options) if is_reasoning_model(request.model) else None
    key = cache_key(request)
    verbosity = options.get("text_verbosity")
    members: dict[str, Json] = {
        "model": request.model,
        "stream": True,
        "service_tier": options.get("service_tier"),
        "instructions": request.system or None,
        "input": list(_items(request, facts.freeform)),
        "tools": [_tool(tool, facts.freeform) for tool in request.tools],
        "tool_choice": "auto",
        "parallel_tool_calls": options.get("parallel_tool_calls", True),
        "reasoning": reasoning or None,
        "store": False,
        "include": [] if reasoning is None else ["reasoning.encrypted_content"],
        "max_output_tokens": facts.max_output_tokens,
        "prompt_cache_key": key,
        "text": None if verbosity is None else {"verbosity": verbosity},
    }
    return compact({name: value for name, value in members.items() if value is not None})


def _options(request: Request) -> dict[str, Json]:
    good: dict[str, Json] = {}
    for name, value in request.provider_options.items():
        types = _OPTION_TYPES.get(name)
        if types is None:
            continue
        if isinstance(value, types):
            good[name] = value
        else:
            log.debug("option %s has the wrong type and counts as absent", name)
    return good


def _reasoning(request: Request, options: Mapping[str, Json]) -> dict[str, Json]:
    members = {
        "effort": request.effort or options.get("reasoning_effort"),
        "summary": options.get("reasoning_summary", "auto"),
    }
    return {name: value for name, value in members.items() if value is not None}


def _tool(tool: ToolDefinition, freeform: bool) -> Item:
    if freeform and tool.grammar is not None:
        return {
            "type": "custom",
            "name": tool.name,
            "description": tool.description,
            "format": {
                "type": "grammar",
                "syntax": tool.grammar.syntax,
                "definition": tool.grammar.definition,
            },
        }
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "strict": False,
        "parameters": dict(tool.input_schema),
    }


def _items(request: Request, freeform: bool) -> Iterator[Item]:
    offered = offered_names(request.tools)
    custom: set[str] = set()  # ids of calls that went as custom calls
    for message in show_withdrawn(request.messages, offered):
        raw = _raw_items(message)
        if raw is not None:
            items: Iterable[Item] = _offered_items(raw, offered)
        else:
            items = _canonical_items(message, freeform, custom)
        for item in items:
            if item["type"] in _CALL_ITEMS:
                (custom.add if item["type"] == "custom_tool_call" else custom.discard)(
                    str(item.get("call_id"))
                )
            yield item


def _raw_items(message: Message) -> list[Item] | None:
    raw = message.provider_raw
    if message.role != "assistant" or not isinstance(raw, list) or not raw:
        return None
    whole = all(isinstance(item, dict) and isinstance(item.get("type"), str) for item in raw)
    return raw if whole else None


def _offered_items(items: list[Item], offered: frozenset[str]) -> list[Item]:
    """The items with each call of a tool that is gone as text, and without the reasoning before
    it: the API takes that only together with what it led to."""
    shown: list[Item] = []
    led_to_gone = False
    for item in reversed(items):
        if item["type"] == "reasoning":
            if not led_to_gone:
                shown.append(item)
            continue
        led_to_gone = item["type"] in _CALL_ITEMS and str(item.get("name")) not in offered
        shown.append(_as_text(item) if led_to_gone else item)
    return shown[::-1]


def _as_text(item: Item) -> Item:
    argument = item.get("input", "")
    if item["type"] == "function_call":
        argument = _parsed(str(item.get("arguments", "")))
    text = call_text(str(item.get("call_id")), str(item.get("name")), argument)
    return _message_item("assistant", [{"type": "output_text", "text": text}])


def _parsed(arguments: str) -> Json:
    try:
        return parse(arguments)
    except NotJson:
        return arguments


def _canonical_items(message: Message, freeform: bool, custom: set[str]) -> Iterator[Item]:
    run: list[Item] = []
    for block in message.content:
        match block:
            case TextBlock(text=text):
                if text:
                    kind = "output_text" if message.role == "assistant" else "input_text"
                    run.append({"type": kind, "text": text})
                continue
            case ImageBlock(media_type=media_type, data=data):
                if message.role == "user":
                    url = f"data:{media_type};base64,{data}"
                    run.append({"type": "input_image", "image_url": url, "detail": "auto"})
                continue
            case ToolCallBlock():
                item = _call(block, freeform)
            case ToolResultBlock():
                item = _result(block, custom)
            case _:
                continue
        if run:
            yield _message_item(message.role, run)
            run = []
        yield item
    if run:
        yield _message_item(message.role, run)


def _message_item(role: str, content: list[Item]) -> Item:
    return {"type": "message", "role": role, "content": content}


def _call(block: ToolCallBlock, freeform: bool) -> Item:
    if block.freeform and freeform:
        return {
            "type": "custom_tool_call",
            "call_id": block.call_id,
            "name": block.name,
            "input": str(block.input),
        }
    argument = {"input": block.input} if block.freeform else block.input
    return {
        "type": "function_call",
        "call_id": block.call_id,
        "name": block.name,
        "arguments": argument if isinstance(argument, str) else compact(argument),
    }


def _result(block: ToolResultBlock, custom: set[str]) -> Item:
    kind = "custom_tool_call_output" if block.call_id in custom else "function_call_output"
    output = f"Error: {block.output}" if block.is_error else block.output
    return {"type": kind, "call_id": block.call_id, "output": output}
