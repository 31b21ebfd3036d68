"""Earlier calls of tools that a request no longer offers, shown as text in their place.

Pure; every provider applies it while it builds a request, so no API sees a call of a tool it does
not know. The text depends on the call and the tool list alone: it is the same in each request.
Saved messages are not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from efr.providers.canonical import (
    Block,
    Json,
    Message,
    TextBlock,
    ToolCallBlock,
    ToolDefinition,
    ToolResultBlock,
)
from efr.providers.provider_json import compact

NOT_ANSWERED = (
    "This call did not finish: it has no recorded result, and it may or may not have run."
)


def call_text(call_id: str, name: str, argument: Json) -> str:
    """A call as text; argument is the freeform text or any JSON value."""
    shown = argument if isinstance(argument, str) else compact(argument)
    return f"[call {call_id} of the tool {name}, which is not on offer now]\n{shown}"


def result_text(call_id: str, name: str, output: str, is_error: bool) -> str:
    """The result of such a call as text."""
    kind = "failed result" if is_error else "result"
    return f"[{kind} of call {call_id} of the tool {name}]\n{output}"


def offered_names(tools: Iterable[ToolDefinition]) -> frozenset[str]:
    return frozenset(tool.name for tool in tools)


def show_withdrawn(messages: Sequence[Message], offered: frozenset[str]) -> list[Message]:
    """The messages with such calls and results as text blocks; provider_raw stays as it is."""
    gone: dict[str, str] = {}  # call id to tool name, of the newest call with that id
    shown: list[Message] = []
    for message in messages:
        for call in message.calls:
            gone.pop(call.call_id, None)
            if call.name not in offered:
                gone[call.call_id] = call.name
        content = tuple(_shown(block, gone, offered) for block in message.content)
        shown.append(Message(message.role, content, message.provider_raw))
    return shown


def _shown(block: Block, gone: dict[str, str], offered: frozenset[str]) -> Block:
    if isinstance(block, ToolCallBlock) and block.name not in offered:
        return TextBlock(call_text(block.call_id, block.name, block.input))
    if isinstance(block, ToolResultBlock) and block.call_id in gone:
        name = gone[block.call_id]
        return TextBlock(result_text(block.call_id, name, block.output, block.is_error))
    return block
