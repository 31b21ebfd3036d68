"""Tokens, compaction and the context report (protocol: tokens and context, context report)."""

from __future__ import annotations

from enum import StrEnum

from efr.wire.scalars import U32, U64, CompactionId, Seq, Time, TurnId, Wire


class Usage(Wire, frozen=True):
    """Tokens of a turn, summed over its model calls."""

    input_tokens: U64
    output_tokens: U64
    cached_input_tokens: U64 = 0  # part of the input
    reasoning_tokens: U64 = 0  # part of the output
    cache_write_tokens: U64 = 0  # part of the input
    cache_write_1h_tokens: U64 = 0  # part of the cache writes
    context_tokens: U64 = 0  # of the last model call, not a sum


class ContextUse(Wire, frozen=True):
    """How full the model's context is."""

    tokens: U64
    limit: U64  # shown as 100%
    window: U64


class CompactionTrigger(StrEnum):
    """What started a compaction."""

    AUTO = "auto"
    MANUAL = "manual"
    OVERFLOW = "overflow"


class Compaction(Wire, frozen=True, kw_only=True):
    """One compaction of a conversation, as recorded."""

    compaction_id: CompactionId
    turn_id: TurnId | None = None  # absent for a manual one
    trigger: CompactionTrigger
    focus: str | None = None
    model: str
    window: U64
    limit: U64
    tokens_before: U64
    tokens_after: U64  # an estimate
    through_turn: TurnId  # the newest turn that is covered, in full or in part
    through_message: U32 | None = None  # covered before this message of it; absent: all of it
    kept_turns: U32
    pruned_outputs: U32 = 0
    pruned_tokens: U64 = 0
    omitted_turns: U32 = 0
    omitted_messages: U32 = 0
    fresh: str | None = None
    summary: str | None = None  # absent when pruning alone was enough
    usage: Usage | None = None  # of the summary request


class ContextPartKind(StrEnum):
    """What a part of the context is made of. Open."""

    SYSTEM_PROMPT = "system_prompt"
    TOOLS = "tools"
    FRESH = "fresh"
    SUMMARY = "summary"
    PROMPTS = "prompts"
    ANSWERS = "answers"
    TOOL_CALLS = "tool_calls"
    TOOL_OUTPUTS = "tool_outputs"
    UNKNOWN = "unknown"


class ContextLimits(Wire, frozen=True):
    """The sizes that matter for a conversation's next request."""

    window: U64
    window_known: bool
    trigger: U64
    hard_cap: U64
    auto: bool


class ContextCount(Wire, frozen=True):
    """The newest count that a provider reported."""

    turn_id: TurnId
    tokens: U64


class ContextPart(Wire, frozen=True):
    """One kind of content in the estimate."""

    kind: ContextPartKind
    tokens: U64
    items: U32


class ContextEstimate(Wire, frozen=True):
    """The next request, estimated; one part per kind."""

    tokens: U64
    parts: tuple[ContextPart, ...]


class ContextItem(Wire, frozen=True, kw_only=True):
    """One of the largest pieces of the context."""

    kind: ContextPartKind
    label: str
    turn_id: TurnId | None = None
    tokens: U64


class ContextCompaction(Wire, frozen=True):
    """A compaction in the context report."""

    seq: Seq
    at: Time
    trigger: CompactionTrigger
    tokens_before: U64
    tokens_after: U64


class ContextCache(Wire, frozen=True):
    """Cache use of a conversation's model calls."""

    calls: U64
    input_tokens: U64
    cached_input_tokens: U64 = 0
    cache_write_tokens: U64 = 0
