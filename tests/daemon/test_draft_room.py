"""Merging drafts of a slow reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.daemon.draft_room import ROOM, SLICE_BYTES, DraftRoom
from efr.wire import types as t

TURN = "00000000-0000-7000-8000-000000000001"
ALL = 2**40


def text(offset: int, delta: str, *, index: int = 0, after: int = 1) -> t.Draft:
    part = t.DraftText(index=index, offset=offset, delta=delta)
    return t.Draft(turn_id=TURN, after_seq=after, draft=part)


def reasoning(offset: int, delta: str, *, after: int = 1, title: str | None = None) -> t.Draft:
    part = t.DraftReasoning(offset=offset, delta=delta, title=title)
    return t.Draft(turn_id=TURN, after_seq=after, draft=part)


def tool_input(call: int, size: int, *, after: int = 1) -> t.Draft:
    part = t.DraftToolInput(call=call, tool="shell", bytes=size)
    return t.Draft(turn_id=TURN, after_seq=after, draft=part)


def context(tokens: int, *, after: int = 1) -> t.Draft:
    part = t.DraftContext(tokens=tokens, limit=100, window=200)
    return t.Draft(turn_id=TURN, after_seq=after, draft=part)


def take_all(room: DraftRoom, sent: int = ALL) -> list[t.Draft]:
    taken = []
    while (draft := room.take(sent)) is not None:
        taken.append(draft)
    return taken


def test_up_to_16_drafts_are_kept_one_by_one() -> None:
    room = DraftRoom()
    drafts = [text(n, "x") for n in range(ROOM)]
    for draft in drafts:
        room.add(draft)
    assert take_all(room) == drafts


def test_a_full_room_merges_each_part() -> None:
    room = DraftRoom()
    for n in range(6):
        room.add(text(2 * n, "ü", after=n))
        room.add(reasoning(n, "r", title=f"title {n}", after=n))
        room.add(tool_input(0, 10 * n, after=n))
        room.add(context(n, after=n))
    merged = take_all(room)
    whole = {type(draft.draft).__name__: draft for draft in merged}
    assert [d.after_seq for d in merged] == [3] * 4 + [4] * 4 + [5] * 4, "the first 16 are 4"
    assert whole["DraftToolInput"] == tool_input(0, 50, after=5)
    assert whole["DraftContext"] == context(5, after=5)
    texts = [d.draft for d in merged if isinstance(d.draft, t.DraftText)]
    assert (texts[0].offset, "".join(part.delta for part in texts)) == (0, "ü" * 6)
    reasonings = [d.draft for d in merged if isinstance(d.draft, t.DraftReasoning)]
    assert "".join(part.delta for part in reasonings) == "r" * 6
    assert reasonings[-1].title == "title 5"


def test_two_messages_are_never_joined() -> None:
    room = DraftRoom()
    for n in range(20):
        room.add(text(n, "a", index=0))
    for n in range(20):
        room.add(text(n, "b", index=1))
    by_index: dict[int, str] = {}
    for draft in take_all(room):
        assert isinstance(draft.draft, t.DraftText)
        by_index[draft.draft.index] = by_index.get(draft.draft.index, "") + draft.draft.delta
    assert by_index == {0: "a" * 20, 1: "b" * 20}


def test_more_parts_than_room_still_merge() -> None:
    room = DraftRoom()
    for size in range(50):
        for call in range(ROOM + 4):
            room.add(tool_input(call, size))
    newest = {d.draft for d in take_all(room)}
    assert {tool_input(call, 49).draft for call in range(ROOM + 4)} <= newest


def test_a_draft_waits_for_the_event_before_it() -> None:
    room = DraftRoom()
    room.add(text(0, "a", after=7))
    assert room.take(6) is None
    assert room.take(7) == text(0, "a", after=7)


@pytest.mark.parametrize("kind", ["assistant_message_completed", "tool_call_started"])
def test_an_end_of_a_message_drops_older_parts_but_not_reasoning(kind: str) -> None:
    room = DraftRoom()
    for draft in (text(0, "a"), tool_input(0, 1), context(1), reasoning(0, "r")):
        room.add(draft)
    room.event_sent(kind, 9)
    room.add(text(1, "late", after=8))
    room.add(text(0, "next", index=1, after=9))
    assert take_all(room) == [reasoning(0, "r"), text(0, "next", index=1, after=9)]


@pytest.mark.parametrize(
    "kind", ["turn_completed", "turn_failed", "turn_interrupted", "turn_cancelled"]
)
def test_an_end_of_a_turn_drops_everything(kind: str) -> None:
    room = DraftRoom()
    room.add(text(0, "a"))
    room.add(reasoning(0, "r"))
    room.event_sent(kind, 9)
    room.add(reasoning(1, "late", after=8))
    assert take_all(room) == []


def test_other_events_drop_nothing() -> None:
    room = DraftRoom()
    room.add(text(0, "a"))
    room.event_sent("assistant_message_updated", 9)
    room.event_sent("cwd_changed", 10)
    assert take_all(room) == [text(0, "a")]


def test_an_answer_that_begins_anew_replaces_what_waits() -> None:
    room = DraftRoom()
    for n in range(ROOM):
        room.add(text(n, "a"))
    room.add(text(0, "b"))
    for n in range(1, ROOM + 1):
        room.add(text(n, "b"))
    last = take_all(room)
    assert isinstance(last[0].draft, t.DraftText)
    assert "a" not in last[0].draft.delta


def test_100_000_drafts_of_a_reader_that_stopped_are_one_text() -> None:
    room = DraftRoom()
    offset = 0
    for n in range(100_000):
        piece = f"größe {n} 🙂 "
        room.add(text(offset, piece, after=n // 1000))
        offset += len(piece.encode())
    taken = take_all(room)
    assert len(taken) <= ROOM + 1 + offset // SLICE_BYTES
    got = ""
    for draft in taken:
        assert isinstance(draft.draft, t.DraftText)
        assert draft.draft.offset == len(got.encode())
        got += draft.draft.delta
    assert got == "".join(f"größe {n} 🙂 " for n in range(100_000))


@given(st.lists(st.tuples(st.text(max_size=5), st.booleans()), max_size=80))
def test_any_reader_gets_every_byte_once_and_in_order(steps: list[tuple[str, bool]]) -> None:
    room, offset, got = DraftRoom(), 0, ""
    for piece, reads in steps:
        room.add(text(offset, piece))
        offset += len(piece.encode())
        if reads and (draft := room.take(ALL)) is not None:
            assert isinstance(draft.draft, t.DraftText)
            assert draft.draft.offset == len(got.encode())
            got += draft.draft.delta
    for draft in take_all(room):
        assert isinstance(draft.draft, t.DraftText)
        assert draft.draft.offset == len(got.encode())
        got += draft.draft.delta
    assert got == "".join(piece for piece, _ in steps)
