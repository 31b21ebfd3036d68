"""What single events do to the rows: titles, status, slots, questions, shells, jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.store import queries
from efr.store.append import Appender
from efr.store.errors import UnknownConversation
from efr.store.rebuild import rebuild
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.clock import FakeClock
from tests.store.samples import (
    CALL,
    CONVERSATION,
    OTHER,
    PTY,
    TURN,
    allowed,
    an_id,
    append,
    appending,
    asked,
    batch,
    created,
    new_database,
    opened,
    projections,
    queued,
    refused,
    row,
    said,
    started,
)

PTS = "/dev/pts/1"
OUTSIDE = t.RouteOutside()
APP = t.RouteProject(an_id(0xAA))


def test_the_first_prompt_gives_the_title_and_keeps_it(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(text="\n  fix the tests \nplease")))
        append(appender, batch(queued(an_id(0x11), "something else")))
        assert row(conn, "conversations")["title"] == "fix the tests"


def test_each_prompt_and_each_turn_moves_the_directory(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(context=t.ShellContext(pwd="/a"))))
        assert row(conn, "conversations")["cwd"] == "/a"
        append(appender, batch(queued(an_id(0x11))))
        assert row(conn, "conversations")["cwd"] == "/a"
        append(appender, batch(started()))
        assert row(conn, "conversations")["cwd"] == "/home/u"


def test_the_scope_follows_the_turn(tmp_path: Path) -> None:
    project = t.ScopeProject(an_id(0xAA))
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started(scope=project)))
        found = queries.conversation(conn, CONVERSATION)
        assert found is not None
        assert (found.scope, found.route) == (project, APP)
        change = ev.ScopeChanged(TURN, from_=project, to=t.ScopePath("/x"))
        append(appender, batch(change))
        found = queries.conversation(conn, CONVERSATION)
        assert found is not None
        assert (found.scope, found.route) == (t.ScopePath("/x"), APP)


def test_the_status_says_whether_somebody_has_to_answer(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        steps: list[tuple[ev.Event, str]] = [
            (queued(), "idle"),
            (started(), "running"),
            (asked(), "awaiting_approval"),
            (asked(an_id(0x101)), "awaiting_approval"),
            (allowed(), "awaiting_approval"),
            (ev.ApprovalExpired(TURN, call_id=an_id(0x101)), "running"),
            (queued(an_id(0x11)), "running"),
            (asked(an_id(0x102)), "awaiting_approval"),
            (ev.TurnCompleted(TURN), "idle"),
            (started(an_id(0x11)), "running"),
            (ev.TurnInterrupted(an_id(0x11)), "idle"),
        ]
        append(appender, created())
        for event, status in steps:
            append(appender, batch(event))
            assert row(conn, "conversations")["status"] == status, event
        assert row(conn, "approvals", an_id(0x102))["state"] == "expired"


@pytest.mark.parametrize(
    ("event", "status", "ended"),
    [
        (ev.PromptHeld(TURN), "held", False),
        (ev.PromptWithdrawn(TURN, origin=t.Origin.CLI), "withdrawn", True),
        (ev.TurnCompleted(TURN), "completed", True),
        (ev.TurnInterrupted(TURN), "interrupted", True),
        (ev.TurnCancelled(TURN), "cancelled", True),
        (ev.TurnFailed(TURN, error=t.ErrorBody(t.ErrorCode.INTERNAL, "no")), "failed", True),
    ],
)
def test_a_turn_has_the_state_of_its_newest_event(
    tmp_path: Path, event: ev.Event, status: str, ended: bool
) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()), batch(event))
        turn = queries.turn(conn, TURN)
        assert turn is not None
        assert (turn.status, turn.ended_at is not None, turn.last_seq) == (status, ended, 3)
        assert [one.id for one in queries.open_turns(conn)] == ([] if ended else [TURN])


def test_a_turns_last_event_counts_also_when_no_rule_reads_it(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started()), batch(said(), said(), said()))
        assert row(conn, "turns", TURN)["last_seq"] == 6
        assert row(conn, "conversations")["last_seq"] == 6


# --- slots ---------------------------------------------------------------------------------------


def of_tty(appender: Appender, conversation: str, route: t.RouteScope | None) -> None:
    append(appender, created(conversation, tty=PTS, route=route))


def test_a_new_conversation_takes_the_slot_of_its_route(tmp_path: Path) -> None:
    third = an_id(3)
    with appending(tmp_path) as (conn, appender):
        of_tty(appender, CONVERSATION, OUTSIDE)
        of_tty(appender, OTHER, APP)
        of_tty(appender, third, OUTSIDE)
        held = {one.id: (one.tty, one.route, one.routed_seq) for one in queries.slots(conn)}
        assert held == {OTHER: (PTS, APP, 2), third: (PTS, OUTSIDE, 3)}
        assert [one.id for one in queries.conversations_of_tty(conn, PTS)] == [third, OTHER]
        old = row(conn, "conversations")
        assert (old["tty"], old["shell_pid"], old["routed_seq"]) == (None, None, 1)


def test_an_old_log_without_routes_has_one_conversation_per_terminal(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        of_tty(appender, CONVERSATION, APP)
        of_tty(appender, OTHER, None)
        assert [one.id for one in queries.slots(conn)] == [OTHER]


def test_an_attached_conversation_moves_into_the_slot(tmp_path: Path) -> None:
    moved = ev.TerminalAttached(tty="/dev/pts/2", route=APP, shell_pid=99, how=t.AttachHow.RESUMED)
    with appending(tmp_path) as (conn, appender):
        of_tty(appender, CONVERSATION, APP)
        append(appender, created(OTHER, tty="/dev/pts/2", route=APP))
        append(appender, batch(moved))
        (slot,) = queries.slots(conn)
        assert (slot.id, slot.tty, slot.shell_pid, slot.routed_seq) == (
            CONVERSATION,
            "/dev/pts/2",
            99,
            3,
        )


def test_a_prompt_of_the_same_terminal_makes_the_slot_current_and_names_its_shell(
    tmp_path: Path,
) -> None:
    def prompt(turn: int, tty: str | None, pid: int) -> ev.PromptQueued:
        return queued(an_id(turn), context=t.ShellContext(pwd="/", tty=tty, shell_pid=pid))

    with appending(tmp_path) as (conn, appender):
        of_tty(appender, CONVERSATION, OUTSIDE)
        of_tty(appender, OTHER, APP)
        append(appender, batch(prompt(0x11, PTS, 41)))
        assert [one.id for one in queries.conversations_of_tty(conn, PTS)] == [CONVERSATION, OTHER]
        append(appender, batch(prompt(0x12, PTS, 42), prompt(0x13, "/dev/pts/9", 43)))
        found = row(conn, "conversations")
        assert (found["shell_pid"], found["routed_seq"]) == (41, 4)


def test_a_conversation_without_a_route_gets_that_of_its_first_turn(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        of_tty(appender, CONVERSATION, None)
        append(appender, batch(queued(), started(scope=t.ScopePath("/etc"))))
        append(appender, batch(queued(an_id(0x11)), started(an_id(0x11), t.ScopeProject(an_id(1)))))
        (slot,) = queries.slots(conn)
        assert slot.route == OUTSIDE


def test_the_slots_are_read_in_one_query(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        of_tty(appender, CONVERSATION, APP)
        asked_for: list[str] = []

        def note(_: object, sql: str, values: object) -> bool:
            asked_for.append(sql)
            return True

        conn.set_exec_trace(note)
        queries.slots(conn)
        conn.set_exec_trace(None)
        assert len(asked_for) == 1


def test_only_what_a_terminal_held_can_be_picked_up(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(CONVERSATION, route=APP))  # a script's
        of_tty(appender, OTHER, APP)
        assert [one.id for one in queries.conversations_of_route(conn, APP, 9)] == [OTHER]


# --- the place in the lists --------------------------------------------------------------------


def test_a_look_away_and_the_end_of_an_idle_shell_are_no_activity(tmp_path: Path) -> None:
    clock = FakeClock()
    away = ev.PresenceChanged(CONVERSATION, t.Presence.AWAY, t.PresenceSource.TIMEOUT)
    gone = ev.ShellExited(pty_id=PTY)
    with opened(new_database(tmp_path)) as conn:
        appender = Appender(conn, clock)
        shell = ev.ShellStarted(pty_id=PTY, cwd="/a", pid=5)
        append(appender, created(), batch(queued(), shell), created(OTHER))
        before = row(conn, "conversations")
        clock.advance(600)
        append(appender, batch(away), batch(gone), batch(away, gone))
        assert row(conn, "conversations") == before
        assert row(conn, "shells", PTY)["exited_at"] == clock.now_us()
        newest_first = [OTHER, CONVERSATION]
        assert [one.id for one in queries.conversations_recent(conn, 9)] == newest_first
        assert [one.id for one in queries.conversations_page(conn, None, 9)] == newest_first
        append(appender, batch(away, said(), gone))
        moved = row(conn, "conversations")
        assert (moved["last_seq"], moved["updated_at"]) == (10, clock.now_us())
        rows = projections(conn)
        rebuild(conn)
        assert projections(conn) == rows


def test_a_look_away_from_no_conversation_is_refused(tmp_path: Path) -> None:
    away = ev.PresenceChanged(OTHER, t.Presence.AWAY, t.PresenceSource.USER)
    with appending(tmp_path) as (_, appender):
        outcome = refused(appender, batch(away, conversation=OTHER))
        assert isinstance(outcome, UnknownConversation)


# --- shells and jobs ---------------------------------------------------------------------------


def test_a_shell_and_the_command_it_was_left_with(tmp_path: Path) -> None:
    detached = ev.ShellCommandDetached(
        call_id=CALL,
        command="sleep 99",
        since="2026-10-03T12:00:00Z",
        contained=False,
        input=t.InputWait.NONE,
    )
    ended = ev.ShellCommandEnded(call_id=CALL, how=t.ShellCommandEnd.ENDED)
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(ev.ShellStarted(pty_id=PTY, cwd="/a", pid=5), detached))
        assert row(conn, "shells", PTY)["running_call"] == CALL
        append(appender, batch(ended, ev.CwdChanged(pty_id=PTY, cwd="/b")))
        found = row(conn, "shells", PTY)
        assert (found["running_call"], found["cwd"], found["exited_at"]) == (None, "/b", None)
        append(appender, batch(ev.ShellExited(pty_id=PTY, exit_code=3)))
        assert row(conn, "shells", PTY)["exit_code"] == 3


def test_a_job_a_match_and_the_notice_that_wakes(tmp_path: Path) -> None:
    wake = an_id(0x12)
    job = t.JobInfo(
        id="j12",
        conversation_id=CONVERSATION,
        turn_id=TURN,
        call_id=CALL,
        command="make",
        launch=t.LaunchDirect(),
        state=t.JobState.RUNNING,
        started_at="2026-10-03T12:00:00Z",
        ends_by="2026-10-03T13:00:00.25Z",
        watch=t.JobWatch(pattern="error", max_wakes=3),
        output="/tmp/j",
        output_bytes=0,
    )
    notice = ev.JobNotice(
        conversation_id=CONVERSATION,
        turn_id=wake,
        job_id="j12",
        notice_kind=t.NoticeKind.WATCH,
        woke=True,
        source_seq=5,
        not_user_input=True,
        text="a line matched",
    )
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started()))
        append(
            appender,
            batch(ev.JobStarted(TURN, call_id=CALL, job=job, launcher_pid=7, launcher_start=8)),
            batch(ev.JobWatchMatched(job_id="j12", line="error: x", wakes_left=1)),
            batch(notice),
        )
        (stored,) = projections(conn)["jobs"]
        assert (stored["number"], stored["ends_by"]) == (12, 1_791_032_400_250_000)
        assert '"wakes":2' in stored["info"]
        (due,) = projections(conn)["job_notices"]
        assert (due["source_seq"], due["kind"], due["turn_id"]) == (5, "watch", wake)
        turn = queries.turn(conn, wake)
        assert turn is not None
        assert (turn.wake, turn.prompt, turn.status, turn.queued_seq) == (
            True,
            "a line matched",
            "queued",
            6,
        )
        assert queries.prompt_turns(conn, [CONVERSATION]) == {CONVERSATION: 1}
