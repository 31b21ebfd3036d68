"""Tokens: what the calls of a turn used, and how full the model's context is.

Pure. The words are the agent document's: window, trigger (where compaction starts), hard cap
(what is never sent), limit (what a client shows as 100 %). A count is the provider's own; an
estimate is 4 bytes of compact JSON per token, rounded up, on top of the last count.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from efr.config.schema import Compaction
from efr.providers.canonical import (
    CallUsage,
    Message,
    ModelFacts,
    Request,
    encode_message,
)
from efr.wire import codec
from efr.wire import types as t

DEFAULT_WINDOW = 128_000  # of a model whose window nobody told: the smallest in common use
_HARD_CAP_PERCENT = 95  # room for the answer and for the estimate's error
_BYTES_PER_TOKEN = 4


class Limits(Struct, frozen=True):
    """Sizes of one model's context, in tokens."""

    window: int
    trigger: int
    hard_cap: int
    limit: int


def limits_of(model: ModelFacts, compaction: Compaction) -> Limits:
    """The limits of a model with the config of now."""
    window = model.context_window or DEFAULT_WINDOW
    trigger = window * compaction.auto_at // 100
    hard_cap = window * _HARD_CAP_PERCENT // 100
    return Limits(window, trigger, hard_cap, trigger if compaction.auto else hard_cap)


def tokens_of_bytes(size_bytes: int) -> int:
    """4 bytes per token, rounded up."""
    return -(-size_bytes // _BYTES_PER_TOKEN)


def estimate(messages: Iterable[Message]) -> int:
    """Tokens of canonical messages; a provider's own items are not counted twice."""
    return sum(tokens_of_bytes(len(encode_message(one.without_raw()))) for one in messages)


def estimate_request(request: Request) -> int:
    """Tokens of a whole request: system, tools and messages."""
    size = len(codec.encode(request.system or ""))
    size += sum(len(codec.encode(tool)) for tool in request.tools)
    return tokens_of_bytes(size) + estimate(request.messages)


def usage_of(sums: CallUsage, last: CallUsage) -> t.Usage:
    """The counts as the protocol shows them: sums of calls, and what the last one left."""
    return t.Usage(
        input_tokens=sums.input_tokens,
        output_tokens=sums.output_tokens,
        cached_input_tokens=sums.cached_input_tokens,
        reasoning_tokens=sums.reasoning_tokens,
        cache_write_tokens=sums.cache_write_tokens,
        cache_write_1h_tokens=sums.cache_write_1h_tokens,
        context_tokens=last.context_tokens,
    )


class Account:
    """The counts of one running turn. One caller."""

    def __init__(self, limits: Limits, base: int | None) -> None:
        self.limits = limits
        self._base = base  # the newest real count, of this turn or the one before
        self._since: int = 0  # estimate of what came after it
        self._sums: CallUsage | None = None
        self._last: CallUsage | None = None
        self._whole = 0  # estimate of the last whole request, when there is no base

    def added(self, *messages: Message) -> None:
        """Messages joined the request since the last count."""
        self._since += estimate(messages)

    def replaced(self, was: Message, now: Message) -> None:
        """A message that no call has read yet is another one."""
        self._since += estimate([now]) - estimate([was])

    def freed(self, tokens: int) -> None:
        """Outputs were pruned from what was counted."""
        self._since -= tokens

    def summarised(self, tokens: int) -> None:
        """A summary stands for what was counted; the request that is left has an estimate alone."""
        self._base, self._whole, self._since = None, tokens, 0

    def before_call(self, request: Request) -> int:
        """The estimate of this request."""
        if self._base is None:
            self._whole = estimate_request(request)
            self._since = 0
        return self.tokens

    def counted(self, usage: CallUsage | None, answer: Message) -> None:
        """A call ended; its count holds the request and the answer. One without input is none: no
        request is empty, but some servers say so of every one."""
        if usage is not None and usage != CallUsage():
            self._sums = usage if self._sums is None else self._sums.plus(usage)
        if usage is not None and usage.input_tokens:
            self._last = usage
            self._base, self._since = usage.context_tokens, 0
        elif self._base is not None:
            self._since += estimate([answer])
        else:
            self._whole += estimate([answer])

    @property
    def tokens(self) -> int:
        """How many tokens the context holds now, as far as known."""
        return max(0, (self._whole if self._base is None else self._base) + self._since)

    @property
    def context(self) -> t.ContextUse:
        return t.ContextUse(tokens=self.tokens, limit=self.limits.limit, window=self.limits.window)

    @property
    def usage(self) -> t.Usage | None:
        """The sums for the turn's end; None when no call told a count."""
        if self._sums is None:
            return None
        return usage_of(self._sums, self._last or CallUsage())
