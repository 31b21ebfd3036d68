"""The report of `efr context`: the newest count, then an estimate part by part.

Pure. It shows sizes and labels; no word of the conversation reaches it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from efr.cli.render.spans import MUTED, PLAIN, Line, join, row
from efr.cli.render.status import context_line
from efr.cli.render.width import cells, pad
from efr.text.numbers import age_text, count_text
from efr.text.visible import visible_line
from efr.wire import methods as m
from efr.wire import types as t

_NAMES = {
    t.ContextPartKind.SYSTEM_PROMPT: "system prompt",
    t.ContextPartKind.TOOLS: "tools",
    t.ContextPartKind.FRESH: "fresh context",
    t.ContextPartKind.SUMMARY: "summary",
    t.ContextPartKind.PROMPTS: "prompts",
    t.ContextPartKind.ANSWERS: "answers",
    t.ContextPartKind.TOOL_CALLS: "tool calls",
    t.ContextPartKind.TOOL_OUTPUTS: "tool outputs",
}
_INDENT = "  "


def report(told: m.ConversationContextResult, now_us: int) -> list[Line]:
    """All of it."""
    lines = [_counted(told), *_limits(told), ()]
    total = count_text(told.estimate.tokens)
    lines.append(row(f"the next request, an estimate: {total} tokens"))
    lines += _rows([_part(part) for part in told.estimate.parts])
    if told.largest:
        lines += [(), row("the largest items, estimates:")]
        lines += _rows([(count_text(one.tokens), _item(one)) for one in told.largest])
    if told.compactions:
        lines += [(), row("compactions:")]
        lines += _rows([_compaction(one, now_us) for one in told.compactions])
    return [*lines, (), *(row(text, MUTED) for text in _cache(told.cache))]


def _counted(told: m.ConversationContextResult) -> Line:
    """The newest real count, in the colour of how full the context is."""
    limits = told.limits
    if told.counted is None:
        return row("no model call was counted since the newest compaction", MUTED)
    limit = limits.trigger if limits.auto else limits.hard_cap
    use = t.ContextUse(tokens=told.counted.tokens, limit=limit, window=limits.window)
    text = f"{count_text(use.tokens)} of {count_text(limit)} tokens at the last count  "
    return join(row(text), context_line(use))


def _limits(told: m.ConversationContextResult) -> list[Line]:
    limits = told.limits
    guess = "" if limits.window_known else " (a guess)"
    text = f"{visible_line(told.model)}: a window of {count_text(limits.window)} tokens{guess}"
    if limits.auto:
        text += f", compacted at {count_text(limits.trigger)}"
    else:
        text += f", full at {count_text(limits.hard_cap)}; nothing is compacted by itself"
    return [row(text, MUTED)]


def _part(part: t.ContextPart) -> tuple[str, str]:
    name = _NAMES.get(part.kind, "other")
    return count_text(part.tokens), name if part.items == 1 else f"{name} ({part.items})"


def _item(one: t.ContextItem) -> str:
    turn = f"  turn {one.turn_id[-8:]}" if one.turn_id is not None else ""
    return visible_line(one.label) + turn


def _compaction(one: t.ContextCompaction, now_us: int) -> tuple[str, str]:
    age = age_text((now_us - t.time_to_us(one.at)) / 1_000_000)
    sizes = f"{count_text(one.tokens_before)} -> {count_text(one.tokens_after)} tokens"
    return age, f"{one.trigger.value}, {sizes}"


def _cache(cache: t.ContextCache) -> Iterator[str]:
    calls = "1 model call" if cache.calls == 1 else f"{cache.calls} model calls"
    yield f"{calls}, {count_text(cache.input_tokens)} tokens in"
    if cache.input_tokens:
        percent = cache.cached_input_tokens * 100 // cache.input_tokens
        text = f"{percent}% of them from the prompt cache"
        if cache.cache_write_tokens:
            text += f", {count_text(cache.cache_write_tokens)} written to it"
        yield text


def _rows(pairs: Sequence[tuple[str, str]]) -> list[Line]:
    """A column of sizes and one of names."""
    size = max((cells(first) for first, _ in pairs), default=0)
    return [
        join(row(f"{_INDENT}{pad(first, size)}  ", MUTED), row(second, PLAIN))
        for first, second in pairs
    ]
