"""A turn from its events and drafts: which rows become final, and what is still open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli.render.spans import text_of
from efr.cli.view.activity import Activity
from efr.cli.view.live import Shown, live_rows
from efr.cli.view.message import MessageText
from efr.cli.view.reply import markdown_writer
from efr.cli.view.screen import Size
from efr.cli.view.scroll import Kind, Scroll
from efr.cli.view.turn import TurnOptions, TurnView, open_question
from efr.wire import events as ev
from efr.wire import types as t

TURN = "019a9b1c-3d00-7a10-8b20-0000000000a1"
OTHER = "019a9b1c-3d00-7a10-8b20-0000000000a2"
CALL = "019a9b1c-3d00-7a10-8b20-0000000000c1"
AT = "2026-10-03T12:00:00Z"


class Told:
    """A turn that a test tells, with the rows it made final."""

    def __init__(self, *, started: bool = True) -> None:
        self.scroll = Scroll()
        writer = markdown_writer(lambda: 60, quotes=False)
        self.view = TurnView(TURN, self.scroll, writer, lambda: 60, TurnOptions())
        self.seq = 0
        self.now = 100.0
        self._rows: list[str] = []
        if started:
            self.event(ev.TurnStarted(TURN, "/", t.ScopeMachine()))

    def event(self, event: ev.Event) -> None:
        self.seq += 1
        self.view.take_event(ev.EventEnvelope(seq=self.seq, at=AT, event=event), self.now)

    def draft(self, part: t.DraftPart, *, after: int | None = None, turn: str = TURN) -> None:
        after_seq = self.seq if after is None else after
        self.view.take_draft(t.Draft(turn, after_seq, part), self.now)

    def text(self, offset: int, delta: str, index: int = 0, after: int | None = None) -> None:
        self.draft(t.DraftText(index, offset, delta), after=after)

    def said(self, text: str, index: int = 0) -> None:
        self.event(ev.AssistantMessageCompleted(TURN, index, text))

    def call(self, command: str = "make", **members: Any) -> None:
        self.event(ev.ToolCallStarted(TURN, CALL, "shell", {"command": command}, **members))

    def done(self, **members: Any) -> None:
        facts = {"output": "", "truncated": False, "is_error": False, **members}
        self.event(ev.ToolCallCompleted(TURN, CALL, **facts))

    def ask(self, **members: Any) -> None:
        self.event(ev.ApprovalRequested(TURN, CALL, "shell: command make", **members))

    @property
    def rows(self) -> list[str]:
        """Every final row so far."""
        self._rows += [text_of(line) for line in self.scroll.take()]
        return self._rows

    @property
    def open(self) -> list[str]:
        return [text_of(line) for line in self.view.reply.open_lines()]

    def live(self, **members: Any) -> list[str]:
        shown = Shown(view=self.view, **members)
        return [text_of(line) for line in live_rows(shown, Size(60, 24), self.now, 0)[0]]


# --- text ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text("aé日🙂\n", max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9))))
def test_pieces_in_any_order_and_repeated_give_the_text(
    text: str, cuts: list[tuple[int, int]]
) -> None:
    held, shown = MessageText(), ""
    for start, length in cuts:
        piece = text[start : start + length]
        shown += held.take(len(text[:start].encode()), piece)
    rest = held.complete(text)

    assert rest is not None
    assert shown + rest == text
    assert held.size_bytes == len(shown.encode())


def test_a_draft_behind_a_gap_waits() -> None:
    held = MessageText()

    assert held.take(3, "late") == ""
    assert held.take(0, "abc") == "abc"
    assert held.take(3, "late") == "late"


def test_a_completion_that_contradicts_is_told_apart() -> None:
    held = MessageText()
    held.take(0, "abc")

    assert held.complete("abX") is None


def test_updates_repeat_what_drafts_said() -> None:
    told = Told()
    told.text(0, "one\n\ntw")
    told.event(ev.AssistantMessageUpdated(TURN, 0, 0, "one\n\nt"))
    told.text(7, "o\n\n")

    assert told.rows == ["one", "", "two"]
    told.said("one\n\ntwo\n\nthree")
    assert told.rows == ["one", "", "two", "", "three"]
    assert told.open == []


def test_drafts_of_the_past_and_of_other_turns_change_nothing() -> None:
    told = Told()
    told.said("one")
    told.text(0, "stale", index=1, after=told.seq - 1)
    told.draft(t.DraftText(1, 0, "other"), turn=OTHER)
    told.text(0, "again", index=0)

    assert told.open == []
    told.text(0, "two", index=1)
    assert told.open == ["two"]


def test_what_contradicts_the_shown_text_follows_as_a_block() -> None:
    told = Told()
    told.text(0, "wrong\n\n")
    told.said("right")

    assert told.rows == ["wrong", "", "right"]


def test_a_snapshot_gives_the_running_message() -> None:
    told = Told()
    told.view.take_live(
        t.Live(TURN, told.seq, 0, "one\n\ntwo", 8, reasoning_title="Plan"), told.now
    )
    told.text(8, " more")

    assert told.rows == ["one"]
    assert told.open == ["", "two more"]


# --- blocks -------------------------------------------------------------------------------------


def test_an_empty_row_sets_two_blocks_apart() -> None:
    told = Told()
    told.view.note("a note")
    told.view.note("another")
    told.said("hello")
    told.call("make\ncheck")
    told.done()
    told.said("bye", index=1)

    assert told.rows == [
        *("a note", "another", "", "hello", ""),
        *("· $ make", "    check", "  ✓", "", "bye"),
    ]


def test_an_allowed_call_stands_under_its_answer() -> None:
    told = Told()
    told.call()
    told.ask()
    told.event(ev.ApprovalResolved(TURN, CALL, t.ApprovalDecision.ALLOW, t.Origin.PHONE))
    told.done()

    assert told.rows == ["✓ allowed on phone", "· $ make", "  ✓"]


def test_a_denied_call_shows_no_result() -> None:
    told = Told()
    told.call()
    told.ask()
    told.view.answered(CALL, t.ApprovalDecision.DENY)
    told.event(ev.ApprovalResolved(TURN, CALL, t.ApprovalDecision.DENY, t.Origin.CLI))
    told.done(output="the user refused", is_error=True)

    assert told.rows == ["✗ denied", "· $ make"]
    assert told.view.refused_calls == ["$ make: not allowed"]


def test_an_expired_question_says_why() -> None:
    told = Told()
    told.call()
    told.ask()
    told.event(ev.ApprovalExpired(TURN, CALL, away=True))

    assert told.rows == ["✗ expired while you were away"]
    assert told.view.question is None


def test_a_question_of_a_stopped_turn_was_interrupted() -> None:
    told = Told()
    told.call()
    told.ask()
    told.event(ev.TurnInterruptRequested(TURN, t.Origin.CLI))
    told.event(ev.ApprovalExpired(TURN, CALL))

    assert told.rows == ["✗ interrupted"]


def test_a_question_that_was_written_whole_is_glued_to_its_answer() -> None:
    told = Told()
    told.call()
    told.ask()
    told.view.commit_question()
    told.view.commit_question()
    told.view.answered(CALL, t.ApprovalDecision.ALLOW)
    told.event(ev.ApprovalResolved(TURN, CALL, t.ApprovalDecision.ALLOW, t.Origin.CLI))

    assert told.rows == ["? run this command", "│ $ make", "✓ allowed"]


def test_the_question_of_the_turn_in_front_says_whose_it_is() -> None:
    told = Told(started=False)
    told.event(ev.ToolCallStarted(OTHER, CALL, "shell", {"command": "ls"}))
    told.event(ev.ApprovalRequested(OTHER, CALL, "shell: command ls"))

    assert told.live(can_answer=True, asking=CALL) == [
        *("? run this command (the running turn asks)", "│ $ ls", "│ y allow  n deny"),
    ]
    told.event(ev.ApprovalResolved(OTHER, CALL, t.ApprovalDecision.DENY, t.Origin.SHELL))
    assert told.rows == ["✗ denied on shell"]
    assert told.live()[-1] == "⠋ queued; the turn in front runs shell"


def test_the_time_of_a_question_in_front_is_not_taken_from_the_own_turn() -> None:
    told = Told(started=False)
    told.event(ev.ToolCallStarted(OTHER, CALL, "shell", {"command": "ls"}))
    told.event(ev.ApprovalRequested(OTHER, CALL, "shell: command ls", expires_in_secs=90_000))
    assert told.live(can_answer=True, asking=CALL)[-1] == "│ y allow  n deny  25h 00m 00s left"
    told.now += 60
    told.event(ev.ApprovalResolved(OTHER, CALL, t.ApprovalDecision.DENY, t.Origin.SHELL))
    told.event(ev.TurnStarted(TURN, "/", t.ScopeMachine()))
    told.now += 5

    assert told.view.elapsed_s(told.now) == 5


def test_the_question_of_the_turn_in_front_ends_with_its_interrupt() -> None:
    told = Told(started=False)
    told.event(ev.ToolCallStarted(OTHER, CALL, "shell", {"command": "ls"}))
    told.event(ev.ApprovalRequested(OTHER, CALL, "shell: command ls"))
    told.event(ev.TurnInterruptRequested(OTHER, t.Origin.CLI))
    told.event(ev.ApprovalExpired(OTHER, CALL))

    assert told.rows == ["✗ interrupted"]


def test_the_open_question_of_a_history_is_found() -> None:
    second = CALL.replace("c1", "c2")
    told: list[ev.Event] = [
        ev.ToolCallStarted(OTHER, CALL, "shell", {"command": "ls"}),
        ev.ApprovalRequested(OTHER, CALL, "shell: command ls"),
        ev.ApprovalResolved(OTHER, CALL, t.ApprovalDecision.ALLOW, t.Origin.CLI),
        ev.ToolCallStarted(OTHER, second, "shell", {"command": "rm x"}),
        ev.ApprovalRequested(OTHER, second, "shell: command rm x"),
    ]
    events = tuple(ev.EventEnvelope(seq=n, at=AT, event=one) for n, one in enumerate(told))

    assert open_question(events) == list(events[3:])
    assert open_question(events[:3]) == []


def test_a_steer_goes_to_the_reply_when_a_model_call_read_it() -> None:
    told = Told()
    told.event(ev.TurnSteered(TURN, "also\nlint"))
    steer = told.seq

    assert told.live()[0] == "↳ steer: also"
    told.event(ev.SteeringDelivered(TURN, (steer,)))
    assert told.rows == ["> also", "  lint"]
    assert not told.view.steers


def test_conversation_events_leave_one_line_each() -> None:
    told = Told()
    told.event(
        ev.ConversationCompacted(
            compaction_id=TURN,
            turn_id=TURN,
            trigger=t.CompactionTrigger.AUTO,
            model="m",
            window=9,
            limit=900_000,
            tokens_before=231_000,
            tokens_after=24_000,
            through_turn=TURN,
            kept_turns=3,
            summary="s",
            usage=t.Usage(1, 3_200),
        )
    )
    told.event(ev.PresenceChanged(TURN, t.Presence.AWAY, t.PresenceSource.USER))

    assert told.rows == [
        "context compacted (auto): 231k -> 24k tokens, kept 3",
        "  turns, summary 3.2k",
    ]
    assert told.view.away


def test_the_end_closes_what_is_open() -> None:
    told = Told()
    told.text(0, "open *text*")
    told.now += 2
    told.event(ev.TurnCompleted(TURN))

    assert told.rows == ["open text", "", "2.0s"]
    assert told.view.over


@pytest.mark.parametrize(
    ("event", "row"),
    [
        (ev.TurnCancelled(TURN), "efrd restarted; the turn was stopped"),
        (ev.PromptWithdrawn(TURN, t.Origin.CLI), "the prompt was taken back before it ran"),
    ],
)
def test_other_ends(event: ev.Event, row: str) -> None:
    told = Told()
    told.event(event)

    assert told.rows == [row]
    assert told.view.over


def test_time_stops_while_the_user_is_asked() -> None:
    told = Told()
    told.call()
    told.now += 3
    told.ask()
    told.now += 60
    assert told.view.elapsed_s(told.now) == 3
    told.event(ev.ApprovalResolved(TURN, CALL, t.ApprovalDecision.ALLOW, t.Origin.CLI))
    told.now += 2

    assert told.view.elapsed_s(told.now) == 5
    assert told.view.calls.get(CALL).elapsed_s(told.now) == 2  # type: ignore[union-attr]


# --- the live zone ------------------------------------------------------------------------------


def test_a_running_call_hides_the_status_row() -> None:
    told = Told()
    told.draft(t.DraftContext(100, 230, 300))
    told.call()
    told.event(ev.ToolCallOutputUpdated(TURN, CALL, "cc a.c\n", 7))
    told.now += 5

    assert told.live() == ["⠋ $ make  5s  ctx 43%", "  │ cc a.c"]


def test_a_waiting_approval_hides_its_call() -> None:
    told = Told()
    told.call()
    told.ask(expires_in_secs=120)
    assert told.live(can_answer=True, asking=CALL)[-1].endswith("120s left")
    told.now += 20.5  # a second counts until it is over

    assert told.live(can_answer=True, asking=CALL) == [
        *("? run this command", "│ $ make", "│ y allow  n deny  100s left"),
    ]
    assert told.live() == ["⠋ waiting for an answer from another client"]


def test_what_runs_on_has_no_gap_and_what_begins_has_one() -> None:
    told = Told()
    told.view.note("app")
    told.text(0, "one\n\ntwo")
    assert told.rows == ["app", "", "one"]

    assert told.live(scope="app") == ["", "two", "⠋ writing  app"]
    told.said("one\n\ntwo")
    told.call()
    assert told.live() == ["", "⠋ $ make"]


STATES = [
    (lambda told: None, "waiting for the model"),
    (lambda told: told.draft(t.DraftReasoning(0, "x")), "thinking"),
    (lambda told: told.draft(t.DraftReasoning(0, "x", "Plan it")), "thinking: Plan it"),
    (lambda told: told.draft(t.DraftToolInput(0, "shell", 1234)), "preparing shell, 1.2 KB"),
    (
        lambda told: told.draft(t.DraftCompacting(t.CompactionTrigger.AUTO)),
        "compacting the context",
    ),
    (lambda told: told.event(ev.TurnInterruptRequested(TURN, t.Origin.CLI)), "interrupting"),
]


@pytest.mark.parametrize(("tell", "state"), STATES)
def test_states(tell: Any, state: str) -> None:
    told = Told()
    tell(told)

    assert told.live() == [f"⠋ {state}"]


def test_a_compaction_that_gave_nothing_is_over_with_the_next_count() -> None:
    activity = Activity()
    activity.compacts()
    activity.counts(t.ContextUse(tokens=9, limit=8, window=10))
    assert activity.text(0, started=True, asks=False) == "waiting for the model"
    activity.writes()
    activity.counts(t.ContextUse(tokens=9, limit=8, window=10))
    assert activity.text(0, started=True, asks=False) == "writing"


def test_silence_of_the_model_is_said_with_its_time() -> None:
    activity = Activity()
    activity.heard(100)
    activity.writes()

    assert activity.text(119, started=True, asks=False) == "writing"
    assert activity.text(123, started=True, asks=False) == "no data for 23s"


def test_blocks_of_one_kind_run_together_only_as_notes() -> None:
    scroll = Scroll()
    scroll.add(Kind.CALL, [()])
    scroll.add(Kind.CALL, [()])
    scroll.add(Kind.NOTE, [()])
    scroll.add(Kind.NOTE, [()])
    scroll.add(Kind.NOTE, [])

    assert len(scroll.take()) == 6


# --- commands left running ------------------------------------------------------------------


@pytest.mark.parametrize("detached_first", [True, False])
def test_a_command_left_running_is_told_in_either_order(*, detached_first: bool) -> None:
    told = Told()
    told.call("serve")
    left = ev.ShellCommandDetached(CALL, "serve", AT, contained=False, input=t.InputWait.NONE)
    if detached_first:
        told.event(left)
    told.done(left_running=True)
    if not detached_first:
        told.event(left)
    asks = ev.ShellCommandInputChanged(CALL, t.InputWait.VISIBLE, contained=False, prompt="Go?")
    told.event(asks)
    told.event(ev.ShellCommandInputChanged(CALL, t.InputWait.NONE, contained=False))
    told.event(ev.ShellCommandEnded(CALL, t.ShellCommandEnd.STOPPED, 130))
    rows = "\n".join(told.rows)
    assert "… still running" in rows
    assert "left running since" in rows
    assert rows.count("serve waits for a line: Go?") == 1
    assert rows.endswith("serve was stopped with 130")
