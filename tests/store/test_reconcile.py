"""A start records the end of everything that was in flight, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from efr.store import queries
from efr.store.append import Appender
from efr.store.batch import Batch, NewOutbox
from efr.store.db import Connection
from efr.store.outbox import claim_next
from efr.store.rebuild import rebuild
from efr.store.reconcile import LOST_RESULT, UNANSWERED_RESULT, NotRun, open_work, reconcile
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.clock import FakeClock
from tests.store.histories import History
from tests.store.samples import (
    CALL,
    CONVERSATION,
    OTHER,
    PTY,
    TURN,
    an_id,
    answered,
    append,
    appending,
    asked,
    batch,
    called,
    created,
    kinds,
    new_database,
    opened,
    projections,
    queued,
    row,
    said,
    started,
)

FROM_PTS_3 = t.ShellContext(pwd="/home/u", tty="/dev/pts/3")


def new_kinds(conn: Connection, after: int) -> list[str]:
    return kinds(conn)[after:]


def settled(conn: Connection) -> bool:
    work = open_work(conn)
    return not (work.questions or work.turns or work.shells or work.jobs or work.notices)


def test_a_question_its_call_and_its_turn_end_in_this_order(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        other_call = an_id(0x101)
        append(appender, created(), batch(queued(), started(), said()))
        append(appender, batch(called(), answered(), called(other_call), asked(other_call)))
        reconcile(conn, FakeClock())

        assert new_kinds(conn, 8) == ["approval_expired", "tool_call_completed", "turn_cancelled"]
        result = queries.turn_events(conn, CONVERSATION, TURN)[-2].payload
        event = ev.decode_event("tool_call_completed", result)
        assert event == ev.ToolCallCompleted(
            turn_id=TURN,
            call_id=other_call,
            output=UNANSWERED_RESULT,
            truncated=False,
            is_error=True,
        )
        assert row(conn, "turns", TURN)["status"] == "cancelled"
        assert row(conn, "conversations")["status"] == "idle"
        assert row(conn, "approvals", other_call)["state"] == "expired"
        assert settled(conn)


def test_a_call_without_an_open_question_may_have_run(tmp_path: Path) -> None:
    free, allowed = an_id(0x101), an_id(0x102)
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started(), called(free)))
        append(appender, batch(called(allowed), asked(allowed)))
        append(
            appender,
            batch(ev.ApprovalResolved(TURN, allowed, t.ApprovalDecision.ALLOW, t.Origin.CLI)),
        )
        reconcile(conn, FakeClock())

        events = queries.turn_events(conn, CONVERSATION, TURN)
        ends = [ev.decode_event(one.kind, one.payload) for one in events]
        results = [one.output for one in ends if isinstance(one, ev.ToolCallCompleted)]
        assert results == [LOST_RESULT, LOST_RESULT]


def test_text_so_far_stays_readable(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started(), said("half an ans")))
        reconcile(conn, FakeClock())
        payloads = [one.payload for one in queries.turn_events(conn, CONVERSATION, TURN)]
        assert any(b"half an ans" in payload for payload in payloads)


def test_prompts_that_waited_are_cancelled_and_named(tmp_path: Path) -> None:
    first, second, third = an_id(0x11), an_id(0x12), an_id(0x13)
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), created(OTHER), batch(queued(), started()))
        append(appender, batch(queued(first, "second prompt", context=FROM_PTS_3)))
        append(appender, batch(queued(second, "a script's"), conversation=OTHER))
        append(appender, batch(queued(third, "held", context=FROM_PTS_3), ev.PromptHeld(third)))

        assert reconcile(conn, FakeClock()) == [
            NotRun("/dev/pts/3", "second prompt"),
            NotRun(None, "a script's"),
            NotRun("/dev/pts/3", "held"),
        ]
        statuses = {turn.id: turn.status for turn in queries.turns(conn, CONVERSATION)}
        assert statuses == {TURN: "cancelled", first: "cancelled", third: "cancelled"}
        assert "turn_started" not in new_kinds(conn, 8)


def test_a_wake_turn_that_waited_is_cancelled_and_is_nobodys_prompt(tmp_path: Path) -> None:
    notice = ev.JobNotice(
        conversation_id=CONVERSATION,
        turn_id=TURN,
        job_id="j1",
        notice_kind=t.NoticeKind.EXITED,
        woke=True,
        source_seq=1,
        not_user_input=True,
        text="job j1 ended",
    )
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(notice))
        assert reconcile(conn, FakeClock()) == []
        assert new_kinds(conn, 2) == ["turn_cancelled"]


def test_shells_end_and_what_was_left_running_in_them(tmp_path: Path) -> None:
    detached = ev.ShellCommandDetached(
        call_id=CALL,
        command="sleep 99",
        since="2026-10-03T12:00:00Z",
        contained=False,
        input=t.InputWait.NONE,
    )
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(ev.ShellStarted(pty_id=PTY, cwd="/"), detached))
        gone = an_id(0x1001)
        append(appender, batch(ev.ShellStarted(pty_id=gone, cwd="/"), ev.ShellExited(pty_id=gone)))
        reconcile(conn, FakeClock())
        assert new_kinds(conn, 5) == ["shell_command_ended", "shell_exited"]
        assert row(conn, "shells", PTY)["exited_at"] is not None
        assert settled(conn)


def test_surface_questions_are_answered_with_no(tmp_path: Path) -> None:
    question = ev.SurfaceQuestionRequested(TURN, call_id=CALL, question_id=an_id(0x500), changes=())
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started(), question))
        reconcile(conn, FakeClock())
        (found,) = [
            one for one in queries.turn_events(conn, CONVERSATION, TURN)
            if one.kind == "surface_question_answered"
        ]  # fmt: skip
        event = ev.decode_event(found.kind, found.payload)
        assert event == ev.SurfaceQuestionAnswered(TURN, question_id=an_id(0x500), keep=False)


def a_job(number: int) -> ev.JobStarted:
    job = t.JobInfo(
        id=f"j{number}",
        conversation_id=CONVERSATION,
        turn_id=TURN,
        call_id=CALL,
        command="make",
        launch=t.LaunchDirect(),
        state=t.JobState.RUNNING,
        started_at="2026-10-03T11:59:00Z",
        ends_by="2026-10-03T13:00:00Z",
        output="/tmp/j",
        output_bytes=0,
    )
    return ev.JobStarted(
        TURN, call_id=CALL, job=job, launcher_pid=100 + number, launcher_start=7000 + number
    )


def test_jobs_end_with_the_launcher_found_or_lost_and_their_notices_wait(tmp_path: Path) -> None:
    asked_for: list[tuple[int, int]] = []

    def end_launcher(pid: int, start: int) -> bool:
        asked_for.append((pid, start))
        return pid == 101

    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started(), a_job(1), a_job(2)))
        reconcile(conn, FakeClock(), end_launcher)

        assert asked_for == [(101, 7001), (102, 7002)]
        assert new_kinds(conn, 5) == [
            "turn_cancelled",
            "job_ended",
            "job_ended",
            "job_notice_held",
            "job_notice_held",
        ]
        ends = [
            ev.decode_event(str(kind), str(payload).encode())
            for kind, payload in conn.execute(
                "SELECT kind, payload FROM events WHERE kind = 'job_ended' ORDER BY seq"
            ).fetchall()
        ]
        assert [
            (end.job_id, end.stopped_by, end.ran_secs, end.launcher_lost)
            for end in ends
            if isinstance(end, ev.JobEnded)
        ] == [
            ("j1", t.JobStopBy.DAEMON_RESTART, 60, False),
            ("j2", t.JobStopBy.DAEMON_RESTART, 60, True),
        ]
        held = [one["held"] for one in projections(conn)["job_notices"]]
        assert held == ["daemon_restart", "daemon_restart"]
        assert settled(conn)


def test_the_outbox_is_settled(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        rows = (NewOutbox("a", b"{}", replay_safe=True), NewOutbox("b", b"{}", replay_safe=False))
        append(appender, Batch(outbox=rows))
        claim_next(conn, 1)
        reconcile(conn, FakeClock())
        assert getattr(claim_next(conn, 2), "kind", None) == "a"
        assert claim_next(conn, 2) is None


def test_with_nothing_in_flight_nothing_is_written(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), started(), ev.TurnCompleted(TURN)))
        assert reconcile(conn, FakeClock()) == []
        assert len(kinds(conn)) == 4


@pytest.mark.parametrize("seed", range(20))
def test_twice_changes_nothing_the_second_time(tmp_path: Path, seed: int) -> None:
    path = random_store(tmp_path, seed)
    with opened(path) as conn:
        reconcile(conn, FakeClock())
        log, before = kinds(conn), projections(conn)
        assert settled(conn)
        assert reconcile(conn, FakeClock()) == []
        assert (kinds(conn), projections(conn)) == (log, before)
        rebuild(conn)
        assert projections(conn) == before


def random_store(directory: Path, seed: int) -> Path:
    path = new_database(directory)
    history = History(seed)
    with opened(path) as conn:
        appender = Appender(conn, FakeClock())
        for _ in range(80):
            append(appender, history.batch())
    return path


class Stopped(BaseException):
    """The process is gone."""


def stop_at(count: int) -> Callable[[], bool]:
    left = [count]

    def commit_hook() -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        return False

    return commit_hook


@pytest.mark.parametrize("seed", range(6))
def test_stopped_between_any_two_commits_the_next_start_ends_with_the_same_log(
    tmp_path: Path, seed: int
) -> None:
    path = random_store(tmp_path, seed)
    copy = path.read_bytes()
    with opened(path) as conn:
        commits: list[None] = []

        def note() -> bool:
            commits.append(None)
            return False

        conn.set_commit_hook(note)
        reconcile(conn, FakeClock())
        conn.set_commit_hook(None)
        whole = sorted(payloads(conn))
    for count in Random(seed).sample(range(len(commits)), min(6, len(commits))):
        path.write_bytes(copy)
        with opened(path) as conn:
            hook = stop_at(count)
            conn.set_commit_hook(hook)
            with pytest.raises(Stopped):
                reconcile(conn, FakeClock())
            conn.set_commit_hook(None)
        with opened(path) as conn:
            reconcile(conn, FakeClock())
            assert settled(conn)
            assert sorted(payloads(conn)) == whole


def payloads(conn: Connection) -> list[tuple[str, str]]:
    """What was recorded, without the numbers: a stop may change the order of conversations."""
    rows = conn.execute(
        "SELECT coalesce(conversation_id, ''), json_remove(payload, '$.source_seq') FROM events"
    )
    return [(str(a), str(b)) for a, b in rows]
