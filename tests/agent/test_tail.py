"""What a compaction keeps, prunes and reads, as pure functions of the messages."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.agent.accounting import Limits, estimate
from efr.agent.context import STUB, Piece, stubbed, stubs
from efr.agent.rebuild import user_text
from efr.agent.tail import (
    budget_of,
    cut_outputs,
    fitting,
    freed_by,
    prune_end,
    shortest_tail,
    tail_start,
    tokens_of,
)
from efr.providers.canonical import Message, ModelFacts, TextBlock, ToolCallBlock, ToolResultBlock

PROMPT, ANSWER, CALL, STEER = "prompt", "answer", "call", "steer"


def said(size: int) -> Message:
    return Message("assistant", (TextBlock("a" * size),))


def call(number: int) -> Message:
    return Message("assistant", (ToolCallBlock(f"c{number}", "look", {}),))


def result(number: int, output: str) -> Message:
    return Message("user", (ToolResultBlock(f"c{number}", output),))


def placed(messages: Sequence[Message]) -> list[Piece]:
    return [Piece("turn", place, message) for place, message in enumerate(messages)]


def talk(*steps: tuple[str, int]) -> list[Piece]:
    """Pieces by their kinds and sizes; a call brings its result."""
    messages: list[Message] = []
    for number, (kind, size) in enumerate(steps):
        if kind in (PROMPT, STEER):
            messages.append(user_text("p" * size))
        elif kind == ANSWER:
            messages.append(said(size))
        else:
            messages += [call(number), result(number, "o" * size)]
    return placed(messages)


def test_small_windows_get_their_share_and_large_ones_the_whole() -> None:
    large = budget_of(Limits(272_000, 206_720, 258_400, 206_720), ModelFacts("m"))
    assert (large.keep, large.least, large.tail) == (40_000, 20_000, 20_000)
    assert (large.summary, large.output) == (8_000, 8_000)
    thinking = budget_of(Limits(128_000, 97_280, 121_600, 97_280), ModelFacts("m", efforts=("x",)))
    assert (thinking.keep, thinking.least, thinking.tail) == (40_000, 20_000, 20_000)
    assert thinking.output == 32_000
    small = budget_of(Limits(32_000, 24_320, 30_400, 24_320), ModelFacts("m"))
    assert small.tail + small.summary < 24_320 // 2


@pytest.mark.parametrize(
    ("steps", "start"),
    [
        ([(PROMPT, 1), (ANSWER, 1), (PROMPT, 1)], 2),
        ([(PROMPT, 1), (CALL, 1)], 1),
        ([(PROMPT, 1), (CALL, 1), (STEER, 1)], 3),
        ([(PROMPT, 1), (CALL, 1), (ANSWER, 1)], 1),
        ([(PROMPT, 1), (ANSWER, 1)], 0),
    ],
)
def test_the_shortest_tail_is_the_newest_call_or_the_users_newest_words(
    steps: list[tuple[str, int]], start: int
) -> None:
    pieces = talk(*steps)
    assert shortest_tail(pieces) == start
    assert tail_start(pieces, 0) == start


def test_a_tail_that_would_start_with_results_starts_with_their_call() -> None:
    pieces = talk((PROMPT, 4000), (CALL, 4000), (PROMPT, 10))
    only_results = pieces[2].tokens + pieces[3].tokens
    assert tail_start(pieces, only_results) == 1


def test_short_outputs_and_those_that_are_stubs_already_stay() -> None:
    short, long = result(1, "x" * len(STUB)), result(2, "x" * 1000)
    assert stubbed(short) is short
    gone = stubbed(long)
    assert gone == result(2, STUB)
    assert stubbed(gone) is gone
    failed = Message("user", (ToolResultBlock("c", "x" * 1000, is_error=True),))
    assert stubbed(failed).content[0] == ToolResultBlock("c", STUB, is_error=True)


def test_outputs_are_cut_alike_and_keep_their_ends() -> None:
    outputs = ("a" * 40_000 + "END", "short", "b" * 80_000)
    blocks = tuple(ToolResultBlock(f"c{n}", text) for n, text in enumerate(outputs))
    message = Message("user", blocks)
    cut = cut_outputs(message, 5_000)
    assert estimate([cut]) <= 5_000
    texts = [block.output for block in cut.content if isinstance(block, ToolResultBlock)]
    assert texts[1] == "short"
    assert texts[0].endswith("END")
    assert "bytes omitted" in texts[0]
    assert "bytes omitted" in texts[2]
    assert cut_outputs(message, 50_000) is message
    assert estimate([cut_outputs(message, 0)]) < 1000


STEPS = st.lists(
    st.tuples(st.sampled_from([PROMPT, ANSWER, CALL, STEER]), st.integers(1, 3000)),
    min_size=1,
    max_size=12,
)


@given(steps=STEPS, tail=st.integers(0, 3000), room=st.integers(0, 6000))
def test_no_part_ends_with_a_call_or_starts_with_results(
    steps: list[tuple[str, int]], tail: int, room: int
) -> None:
    pieces = talk((PROMPT, 5), *steps)
    start = tail_start(pieces, tail)
    assert 0 <= start <= shortest_tail(pieces)
    assert not pieces[start].has_results
    part = fitting(pieces, start, room)
    if part is None:
        return
    read = pieces[part.first : part.last]
    assert tokens_of(read) <= room
    assert not read[0].has_results
    assert not read[-1].calls
    if tokens_of(pieces) <= room:
        assert read == pieces


@given(steps=STEPS, keep=st.integers(0, 3000))
def test_a_pruning_only_shrinks_and_leaves_the_newest_alone(
    steps: list[tuple[str, int]], keep: int
) -> None:
    pieces = talk((PROMPT, 5), *steps)
    end = prune_end(pieces, keep)
    pruned = [*stubs(pieces[:end]), *pieces[end:]]
    _, freed = freed_by(pieces, end)
    assert tokens_of(pieces) - tokens_of(pruned) == freed >= 0
    assert pruned[shortest_tail(pieces) :] == pieces[shortest_tail(pieces) :]
    assert [one.message.role for one in pruned] == [one.message.role for one in pieces]
