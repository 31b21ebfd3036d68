"""`conversation.context`: what fills the context of a conversation's next request.

Sizes, counts and labels; never a word of a message. Every size is an estimate but the one that a
provider counted. The tokens of a message are shared among its blocks by their bytes, so the parts
add up to the estimate. Blocks on a reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nlargest
from typing import Any, Final

from msgspec import Struct

from efr.agent.context import Context
from efr.agent.frame import Frame
from efr.agent.manual import Prepared, prepare
from efr.agent.services import Services
from efr.providers.canonical import (
    Block,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from efr.store import queries
from efr.store.rows import TurnRow
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

_LARGEST: Final = 5
_KIND = t.ContextPartKind


class Item(Struct, frozen=True):
    """One piece of the request."""

    kind: t.ContextPartKind
    label: str
    turn_id: str | None
    tokens: int


class Used(Struct, frozen=True):
    """What the log says of the model calls so far."""

    compactions: Sequence[queries.CompactionRow]
    counted: Sequence[queries.CountedUse]
    calls: int


def report(services: Services, params: m.ConversationContextParams) -> m.ConversationContextResult:
    """Raises Refusal (`not_found`, `invalid` for a model that is not served), NoModelsYet."""
    prepared = prepare(services, params.conversation_id, params.model)
    used = services.ports.readers.read(lambda conn: _used(conn, params.conversation_id))
    limits, items = prepared.frame.limits, list(_items(prepared))
    return m.ConversationContextResult(
        model=prepared.frame.resolved.model.id,
        limits=t.ContextLimits(
            window=limits.window,
            window_known=prepared.frame.resolved.model.context_window is not None,
            trigger=limits.trigger,
            hard_cap=limits.hard_cap,
            auto=prepared.frame.settings.compaction.auto,
        ),
        counted=_counted(used),
        estimate=_estimate(items),
        largest=tuple(
            t.ContextItem(kind=one.kind, label=one.label, turn_id=one.turn_id, tokens=one.tokens)
            for one in nlargest(_LARGEST, items, key=lambda one: one.tokens)
        ),
        compactions=tuple(
            t.ContextCompaction(
                seq=one.seq,
                at=t.time_from_us(one.at),
                trigger=t.CompactionTrigger(one.trigger),
                tokens_before=one.tokens_before,
                tokens_after=one.tokens_after,
            )
            for one in used.compactions
        ),
        cache=t.ContextCache(
            calls=used.calls,
            input_tokens=sum(one.input_tokens for one in used.counted),
            cached_input_tokens=sum(one.cached_input_tokens for one in used.counted),
            cache_write_tokens=sum(one.cache_write_tokens for one in used.counted),
        ),
    )


# The request -----------------------------------------------------------------------------------


def _estimate(items: Sequence[Item]) -> t.ContextEstimate:
    """One part per kind that is there, in the order of the protocol."""
    parts = [
        t.ContextPart(kind=kind, tokens=sum(one.tokens for one in found), items=len(found))
        for kind in _KIND
        if (found := [one for one in items if one.kind is kind])
    ]
    return t.ContextEstimate(tokens=sum(part.tokens for part in parts), parts=tuple(parts))


def _items(prepared: Prepared) -> Iterator[Item]:
    frame, context = prepared.frame, prepared.context
    yield from _frame_items(frame)
    yield from _head_items(context)
    tools: dict[str, str] = {}  # a call's id -> the tool's name
    for piece in context.pieces:
        message = piece.message
        tools |= {call.call_id: call.name for call in message.calls}
        sizes = [len(codec.encode(block)) for block in message.content]
        words: dict[t.ContextPartKind, Item] = {}  # the texts of one message are one item
        for block, tokens in zip(message.content, shared(piece.tokens, sizes), strict=True):
            kind, label = _named(message, block, tools)
            if isinstance(block, ToolCallBlock | ToolResultBlock):
                yield Item(kind, label, piece.turn_id, tokens)
            else:
                before = words[kind].tokens if kind in words else 0
                words[kind] = Item(kind, label, piece.turn_id, before + tokens)
        yield from words.values()


def _frame_items(frame: Frame) -> Iterator[Item]:
    """The system prompt and each tool."""
    sizes = [frame.system_bytes, *(len(codec.encode(tool)) for tool in frame.tools)]
    names = [
        (_KIND.SYSTEM_PROMPT, "the system prompt"),
        *((_KIND.TOOLS, f"the tool {tool.name}") for tool in frame.tools),
    ]
    for (kind, label), tokens in zip(names, shared(frame.tokens, sizes), strict=True):
        yield Item(kind, label, None, tokens)


def _head_items(context: Context) -> Iterator[Item]:
    for tokens, is_fresh in context.head_tokens():
        if is_fresh:
            yield Item(_KIND.FRESH, "the fresh context", None, tokens)
        else:
            yield Item(_KIND.SUMMARY, "the summary of earlier turns", None, tokens)


def _named(message: Message, block: Block, tools: dict[str, str]) -> tuple[t.ContextPartKind, str]:
    """The kind of a block and a label that holds none of its text."""
    match block:
        case ToolCallBlock(name=name):
            return _KIND.TOOL_CALLS, f"a call of {name}"
        case ToolResultBlock(call_id=call_id):
            return _KIND.TOOL_OUTPUTS, f"the output of {tools.get(call_id, 'a tool')}"
        case TextBlock() | ReasoningBlock() if message.role == "assistant":
            return _KIND.ANSWERS, "an answer"
        case _:
            return _KIND.PROMPTS, "a prompt"


def shared(tokens: int, sizes: Sequence[int]) -> list[int]:
    """The tokens shared by size, in whole numbers that add up to them."""
    total = sum(sizes)
    if not total:
        return [0 for _ in sizes]
    shares, seen, given = [], 0, 0
    for size in sizes:
        seen += size
        share = tokens * seen // total - given
        shares.append(share)
        given += share
    return shares


# The calls so far ------------------------------------------------------------------------------


def _counted(used: Used) -> t.ContextCount | None:
    """The newest count of a turn, unless a compaction came after it."""
    newest = max((one.seq for one in used.compactions), default=0)
    for one in reversed(used.counted):
        if one.seq < newest:
            return None
        if one.turn_id is not None and one.context_tokens:
            return t.ContextCount(turn_id=one.turn_id, tokens=one.context_tokens)
    return None


def _used(conn: Any, conversation_id: str) -> Used:
    counted = queries.counted_use(conn, conversation_id)
    with_count = {one.turn_id for one in counted}
    saved: dict[str, int] = {}
    for row in queries.turn_messages(conn, conversation_id):
        is_answer = codec.decode(row.message, Message).role == "assistant"
        saved[row.turn_id] = saved.get(row.turn_id, 0) + is_answer
    calls = sum(one.turn_id is None for one in counted)
    for turn in queries.turns(conn, conversation_id):
        if turn.id in with_count:
            calls += saved[turn.id] if turn.id in saved else _answers(conn, turn)
    return Used(queries.compactions(conn, conversation_id), counted, calls)


def _answers(conn: Any, turn: TurnRow) -> int:
    """The answers of a turn whose messages are in a summary, as far as its events tell them
    apart: calls that one answer made in parallel look like several."""
    answers, open_answer = 0, False
    for row in queries.turn_events(conn, turn.conversation_id, turn.id):
        if row.kind == ev.AssistantMessageCompleted.__struct_config__.tag:
            answers, open_answer = answers + 1, True
        elif row.kind == ev.ToolCallStarted.__struct_config__.tag:
            answers, open_answer = answers + (not open_answer), True
        elif row.kind == ev.ToolCallCompleted.__struct_config__.tag:
            open_answer = False
    return answers
