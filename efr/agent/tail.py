"""Which messages a compaction keeps, which outputs it may replace, and what a summary reads.

Pure functions over pieces; every number of tokens is an estimate. The sizes are those of a window
of 128,000 tokens and more; a smaller one gets its share, so that a compaction leaves room there
too. Source: agent document, "One compaction".
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from efr.agent.accounting import Limits, estimate
from efr.agent.context import Piece, stubs
from efr.providers.canonical import Block, Message, ModelFacts, ToolResultBlock
from efr.text.cut import cut_middle

_KEEP = 40_000  # newest tokens whose outputs are never replaced: what the model works with now
_LEAST = 20_000  # a pruning that frees less loses the cache for nothing
_TAIL = 20_000  # newest tokens that stay as they are beside the summary
_SUMMARY = 8_000  # of the answer: 2000 words and their headings
_REASONING = 24_000  # on top for a model that thinks before it writes
_LEAST_OUTPUT = 1_000  # of a cut output: enough for its first and last lines


class Budget(Struct, frozen=True):
    """How much of a model's window goes where."""

    keep: int
    least: int
    tail: int
    summary: int  # room for the summary itself
    output: int  # at most for the answer that holds it


def budget_of(limits: Limits, model: ModelFacts) -> Budget:
    """The sizes for one model."""
    summary = min(_SUMMARY, limits.window // 8)
    return Budget(
        keep=min(_KEEP, limits.window // 3),
        least=min(_LEAST, limits.window // 6),
        tail=min(_TAIL, limits.window // 6, limits.trigger // 2),
        summary=summary,
        output=summary + (_REASONING if model.efforts else 0),
    )


def tokens_of(pieces: Sequence[Piece]) -> int:
    """The sum."""
    return sum(piece.tokens for piece in pieces)


def shortest_tail(pieces: Sequence[Piece]) -> int:
    """Where the least starts that must stay: the newest call with its result, or the newest
    words of the user."""
    for at in range(len(pieces) - 1, -1, -1):
        if pieces[at].is_said or pieces[at].calls:
            return at
    return 0


def tail_start(pieces: Sequence[Piece], tokens: int) -> int:
    """Where the kept tail starts: at most that many tokens, never at results alone."""
    start = min(_newest(pieces, tokens), shortest_tail(pieces))
    while start > 0 and pieces[start].has_results:
        start -= 1
    return start


def prune_end(pieces: Sequence[Piece], keep: int) -> int:
    """Outputs before this place may be replaced."""
    return min(_newest(pieces, keep), shortest_tail(pieces))


def freed_by(pieces: Sequence[Piece], end: int) -> tuple[int, int]:
    """How many outputs a pruning up to `end` replaces, and how many tokens that frees."""
    outputs = freed = 0
    for was, now in zip(pieces[:end], stubs(pieces[:end]), strict=True):
        if now.message is not was.message:
            freed += was.tokens - now.tokens
            outputs += sum(
                a != b for a, b in zip(was.message.content, now.message.content, strict=True)
            )
    return outputs, freed


def _newest(pieces: Sequence[Piece], tokens: int) -> int:
    """Where the newest pieces of at most that many tokens start."""
    start = len(pieces)
    while start > 0 and pieces[start - 1].tokens <= tokens:
        start -= 1
        tokens -= pieces[start].tokens
    return start


class Part(Struct, frozen=True):
    """What a summary reads: the pieces from `first` up to `last`, without it."""

    first: int
    last: int


def fitting(pieces: Sequence[Piece], tail: int, room: int) -> Part | None:
    """The part of the pieces that fits `room` tokens; None: nothing does.

    What is left out at the end is in the tail, which stays; then the oldest go. When that leaves
    nothing (one message is larger than the window), the newest that fit are read instead. The
    part never ends with a call and never starts with results.
    """
    last, size = len(pieces), tokens_of(pieces)
    while last > tail and (size > room or (last < len(pieces) and pieces[last - 1].calls)):
        last -= 1
        size -= pieces[last].tokens
    return _without_oldest(pieces, last, room) or _without_oldest(pieces, len(pieces), room)


def _without_oldest(pieces: Sequence[Piece], last: int, room: int) -> Part | None:
    first, size = 0, tokens_of(pieces[:last])
    while first < last and (size > room or (first > 0 and pieces[first].has_results)):
        size -= pieces[first].tokens
        first += 1
    return Part(first, last) if first < last else None


def cut_outputs(message: Message, tokens: int) -> Message:
    """The message with its results cut in the middle, all by one limit, so that it fits."""
    limit = max((_size(block) for block in message.content), default=0)
    cut = message
    while estimate([cut]) > tokens and limit > _LEAST_OUTPUT:
        limit = max(_LEAST_OUTPUT, limit * 3 // 4)
        cut = Message(message.role, tuple(_cut(block, limit) for block in message.content))
    return cut


def _size(block: Block) -> int:
    return len(block.output.encode()) if isinstance(block, ToolResultBlock) else 0


def _cut(block: Block, limit_bytes: int) -> Block:
    if not isinstance(block, ToolResultBlock):
        return block
    output, was_cut = cut_middle(block.output, limit_bytes)
    return ToolResultBlock(block.call_id, output, block.is_error) if was_cut else block
