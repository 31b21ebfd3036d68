"""A recorded compaction, and the context report (protocol: compaction, context report)."""

from enum import StrEnum

from efr.wire.scalars import U32, U64, CompactionId, Seq, Time, TurnId, Wire
from efr.wire.shared.tokens import CompactionTrigger, Usage


class Compaction(Wire, frozen=True, kw_only=True):
    """One compaction of a conversation, as recorded."""

    compaction_id: CompactionId
    turn_id: TurnId | None = None  # absent for one between turns
    trigger: CompactionTrigger
    focus: str | None = None  # what the user asked to keep
    model: str  # of the summary
    window: U64  # of that model
    limit: U64  # as in the context of a turn
    tokens_before: U64
    tokens_after: U64  # an estimate
    through_turn: TurnId  # the newest turn that is covered, in full or in part
    through_message: U32 | None = None  # covered before this message of it; absent: all of it
    kept_turns: U32  # kept as they are, in full or in part
    pruned_outputs: U32 = 0  # tool results replaced by a stub
    pruned_tokens: U64 = 0  # what that freed, an estimate
    omitted_turns: U32 = 0  # turns that the summary never saw
    omitted_messages: U32 = 0  # messages that the summary never saw
    fresh: str | None = None  # what is sent before the summary; absent without one
    summary: str | None = None  # absent when pruning alone was enough
    usage: Usage | None = None  # of the summary request


class ContextPartKind(StrEnum):
    """What a part of the context is made of. Open."""

    SYSTEM_PROMPT = "system_prompt"  # efr's instructions
    TOOLS = "tools"  # the definitions of the tools
    FRESH = "fresh"  # what is sent before a summary
    SUMMARY = "summary"  # of earlier turns
    PROMPTS = "prompts"  # of the user
    ANSWERS = "answers"  # of the model
    TOOL_CALLS = "tool_calls"  # of the model
    TOOL_OUTPUTS = "tool_outputs"  # what the calls gave
    UNKNOWN = "unknown"


class ContextLimits(Wire, frozen=True):
    """The sizes that matter for a conversation's next request."""

    window: U64  # of the model
    window_known: bool  # false: a guess
    trigger: U64  # where a compaction starts by itself
    hard_cap: U64  # what a request may hold at most
    auto: bool  # compactions start by themselves


class ContextCount(Wire, frozen=True):
    """The newest count that a provider reported."""

    turn_id: TurnId
    tokens: U64


class ContextPart(Wire, frozen=True):
    """One kind of content in the estimate."""

    kind: ContextPartKind
    tokens: U64
    items: U32  # how many there are


class ContextEstimate(Wire, frozen=True):
    """The next request, estimated; one part per kind."""

    tokens: U64
    parts: tuple[ContextPart, ...]


class ContextItem(Wire, frozen=True, kw_only=True):
    """One of the largest pieces of the context."""

    kind: ContextPartKind
    label: str  # what it is, without its text
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

    calls: U64  # model calls that were counted
    input_tokens: U64
    cached_input_tokens: U64 = 0
    cache_write_tokens: U64 = 0
