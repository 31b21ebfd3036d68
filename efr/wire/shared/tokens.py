"""Tokens, compaction and the context report (protocol: tokens and context, context report)."""

from enum import StrEnum

from efr.wire.scalars import U64, Wire


class Usage(Wire, frozen=True):
    """Tokens of a turn, summed over its model calls."""

    input_tokens: U64  # sent, cached ones included
    output_tokens: U64  # received, reasoning included
    cached_input_tokens: U64 = 0  # part of the input that the provider had cached
    reasoning_tokens: U64 = 0  # part of the output
    cache_write_tokens: U64 = 0  # part of the input that went into the cache
    cache_write_1h_tokens: U64 = 0  # part of the cache writes that lives for an hour
    context_tokens: U64 = 0  # input and output of the last model call, not a sum


class ContextUse(Wire, frozen=True):
    """How full the model's context is."""

    tokens: U64
    limit: U64  # shown as 100%
    window: U64


class CompactionTrigger(StrEnum):
    """What started a compaction."""

    AUTO = "auto"  # the context was nearly full
    MANUAL = "manual"  # the user asked
    OVERFLOW = "overflow"  # the provider refused a request as too long
