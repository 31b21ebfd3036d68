from __future__ import annotations

from collections.abc import Callable

import pytest

from efr.agent.drafts import DraftHub
from efr.wire import types as t
from tests.agent.scripted import ScriptedTimer
from tests.harness.clock import FakeClock

CONVERSATION = "00000000-0000-7000-8000-0000000000c1"
TURN = "00000000-0000-7000-8000-0000000000d1"


class Reader:
    """A client's view: every draft in order, and the text they add up to."""

    def __init__(self) -> None:
        self.drafts: list[t.Draft] = []

    def __call__(self, draft: t.Draft) -> None:
        self.drafts.append(draft)

    @property
    def parts(self) -> list[t.DraftPart]:
        return [draft.draft for draft in self.drafts]

    def text(self, index: int, start: str = "") -> str:
        """The message; fails when a draft leaves a gap or overlaps."""
        data = start.encode()
        for part in self.parts:
            if isinstance(part, t.DraftText) and part.index == index:
                assert part.offset == len(data)
                data += part.delta.encode()
        return data.decode()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def timer(clock: FakeClock) -> ScriptedTimer:
    return ScriptedTimer(clock)


@pytest.fixture
def hub(clock: FakeClock, timer: ScriptedTimer) -> DraftHub:
    return DraftHub(clock, timer, lambda: 0.016)


def test_the_first_draft_comes_at_once_and_the_next_ones_once_per_interval(
    hub: DraftHub, timer: ScriptedTimer
) -> None:
    reader = Reader()
    hub.listen(CONVERSATION, reader)
    channel = hub.begin(CONVERSATION, TURN, 7)
    channel.begin_answer(0)
    channel.text("one")
    assert [part.delta for part in reader.parts if isinstance(part, t.DraftText)] == ["one"]
    channel.text(" two")
    channel.text(" three")
    assert len(reader.parts) == 1
    timer.advance(0.016)
    assert reader.parts[1:] == [t.DraftText(index=0, offset=3, delta=" two three")]
    assert {draft.after_seq for draft in reader.drafts} == {7}


def test_an_interval_of_nothing_sends_every_change(clock: FakeClock, timer: ScriptedTimer) -> None:
    hub = DraftHub(clock, timer, lambda: 0.0)
    reader = Reader()
    hub.listen(CONVERSATION, reader)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.begin_answer(0)
    for word in "größe 🙂":
        channel.text(word)
    assert len(reader.parts) == len("größe 🙂")
    assert reader.text(0) == "größe 🙂"


def test_without_a_listener_no_timer_is_set(hub: DraftHub, timer: ScriptedTimer) -> None:
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.begin_answer(0)
    for _ in range(100):
        channel.text("word ")
    channel.context(t.ContextUse(tokens=1, limit=2, window=3))
    assert timer.live == 0


def test_reasoning_comes_before_text_and_tool_inputs_last(
    hub: DraftHub, timer: ScriptedTimer
) -> None:
    reader = Reader()
    hub.listen(CONVERSATION, reader)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.begin_answer(2)
    channel.text("a")
    channel.tool_input(0, "shell", 10)
    channel.text("b")
    channel.reasoning("**Look at the disk**\nfirst")
    timer.advance(0.016)
    assert reader.parts[1:] == [
        t.DraftReasoning(offset=0, delta="**Look at the disk**\nfirst", title="Look at the disk"),
        t.DraftText(index=2, offset=1, delta="b"),
        t.DraftToolInput(call=0, tool="shell", bytes=10),
    ]


def test_the_reasoning_of_a_turn_is_one_text_and_its_title_starts_anew_per_call(
    clock: FakeClock, timer: ScriptedTimer
) -> None:
    hub = DraftHub(clock, timer, lambda: 0.0)
    reader = Reader()
    hub.listen(CONVERSATION, reader)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.begin_answer(0)
    channel.reasoning("**One**")
    channel.end_answer()
    channel.begin_answer(0)
    channel.reasoning("two")
    reasoning = [part for part in reader.parts if isinstance(part, t.DraftReasoning)]
    assert [(part.offset, part.delta, part.title) for part in reasoning] == [
        (0, "**One**", "One"),
        (7, "\n\ntwo", None),
    ]


def test_a_snapshot_and_the_drafts_after_it_fit_together(
    clock: FakeClock, timer: ScriptedTimer
) -> None:
    hub = DraftHub(clock, timer, lambda: 0.0)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.recorded(9)
    channel.begin_answer(1)
    channel.reasoning("thinking")
    channel.text("grö")
    live = hub.live(CONVERSATION)
    assert live == t.Live(
        turn_id=TURN, after_seq=9, index=1, text="grö", text_bytes=4, reasoning="thinking"
    )
    channel.text("ße")  # between the snapshot and the join: not lost
    reader = Reader()
    hub.listen(CONVERSATION, reader, live)
    channel.text(" 🙂")
    assert reader.text(1, live.text) == "größe 🙂"
    assert not any(isinstance(part, t.DraftReasoning) for part in reader.parts)


def test_a_resume_starts_at_the_beginning_of_message_and_reasoning(
    clock: FakeClock, timer: ScriptedTimer
) -> None:
    hub = DraftHub(clock, timer, lambda: 0.0)
    first = Reader()
    hub.listen(CONVERSATION, first)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.context(t.ContextUse(tokens=10, limit=100, window=128))
    channel.begin_answer(0)
    channel.reasoning("why")
    channel.text("because")
    second = Reader()
    hub.listen(CONVERSATION, second)
    assert second.parts == [
        t.DraftContext(tokens=10, limit=100, window=128),
        t.DraftReasoning(offset=0, delta="why"),
        t.DraftText(index=0, offset=0, delta="because"),
    ]
    channel.text(" so")
    assert first.text(0) == second.text(0) == "because so"


def test_there_is_no_live_snapshot_between_model_calls(hub: DraftHub) -> None:
    channel = hub.begin(CONVERSATION, TURN, 1)
    assert hub.live(CONVERSATION) is None
    channel.begin_answer(0)
    assert hub.live(CONVERSATION) is not None
    channel.end_answer()
    assert hub.live(CONVERSATION) is None
    channel.end()
    assert hub.live(CONVERSATION) is None


def test_a_finished_message_sends_no_more_of_its_text(hub: DraftHub, timer: ScriptedTimer) -> None:
    reader = Reader()
    hub.listen(CONVERSATION, reader)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.begin_answer(0)
    channel.text("a")
    channel.text("b")
    channel.reasoning("r")
    channel.end_answer()
    timer.advance(1)
    assert [type(part) for part in reader.parts] == [t.DraftText, t.DraftReasoning]


def test_a_listener_that_left_or_failed_gets_nothing_more(
    clock: FakeClock, timer: ScriptedTimer, caplog: pytest.LogCaptureFixture
) -> None:
    hub = DraftHub(clock, timer, lambda: 0.0)
    reader = Reader()
    leave = hub.listen(CONVERSATION, reader)

    def failing(draft: t.Draft) -> None:
        raise RuntimeError("the queue is broken")

    hub.listen(CONVERSATION, failing)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.begin_answer(0)
    channel.text("a")
    leave()
    channel.text("b")
    assert reader.text(0) == "a"
    assert [record.message for record in caplog.records] == [
        "a listener of drafts failed and is dropped"
    ]


def test_a_listener_that_listens_again_from_inside_gets_what_is_new(
    clock: FakeClock, timer: ScriptedTimer
) -> None:
    hub = DraftHub(clock, timer, lambda: 0.0)
    channel = hub.begin(CONVERSATION, TURN, 1)
    channel.begin_answer(0)
    second = Reader()
    leaves: list[Callable[[], None]] = []

    def first(draft: t.Draft) -> None:
        if not leaves:
            leaves.append(hub.listen(CONVERSATION, second))

    hub.listen(CONVERSATION, first)
    channel.text("all of it")
    assert second.text(0) == "all of it"


def test_who_comes_during_a_compaction_hears_of_it_once(hub: DraftHub) -> None:
    channel = hub.begin(CONVERSATION, TURN, 5)
    channel.context(t.ContextUse(tokens=90, limit=80, window=100))
    channel.compacting(t.CompactionTrigger.AUTO)
    heard: list[t.Draft] = []
    leave = hub.listen(CONVERSATION, heard.append)
    channel.deliver()
    assert [one.draft for one in heard] == [
        t.DraftContext(tokens=90, limit=80, window=100),
        t.DraftCompacting(trigger=t.CompactionTrigger.AUTO),
    ]
    channel.compacted()
    late: list[t.Draft] = []
    leave_too = hub.listen(CONVERSATION, late.append)
    assert [one.draft for one in late] == [t.DraftContext(tokens=90, limit=80, window=100)]
    channel.context(t.ContextUse(tokens=90, limit=80, window=100))  # as full as before
    assert [one.draft for one in heard[2:]] == [one.draft for one in late]
    channel.compacting(t.CompactionTrigger.AUTO)
    assert heard[-1].draft == late[-1].draft == t.DraftCompacting(trigger=t.CompactionTrigger.AUTO)
    leave()
    leave_too()
