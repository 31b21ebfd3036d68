"""What a start of the daemon records about the one before it: nothing goes on by itself.

Runs on the start's own connection, before any worker and before the socket. Everything is planned
from the projections, then written as one batch for each conversation, so a stop in the middle
leaves whole conversations; what was settled is not found again, so running twice changes nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from efr.base.clock import Clock
from efr.store import db
from efr.store.append import Appender
from efr.store.batch import Batch, NewEvent
from efr.store.conversations import open_turns, pending_approvals
from efr.store.db import Connection
from efr.store.outbox import settle_after_stop
from efr.store.rows import PendingQuestion, TurnRow
from efr.wire import events as ev
from efr.wire import types as t

# What the model reads in the place of a result that will never come.
LOST_RESULT: Final = (
    "efr's daemon stopped while this call was open. It may or may not have run, in whole or in "
    "part: check before you do it again."
)
UNANSWERED_RESULT: Final = (
    "efr's daemon stopped before the user answered the question, so this call was not run."
)


class NotRun(Struct, frozen=True, gc=False):
    """A prompt that waited and will not run; `tty` is the terminal it came from, if any."""

    tty: str | None
    prompt: str


class OpenShell(Struct, frozen=True, gc=False):
    """A hidden shell that was running; `running_call` left a command running in it."""

    conversation_id: str
    pty_id: str
    running_call: str | None


class OpenJob(Struct, frozen=True, gc=False):
    """A background job that was running."""

    conversation_id: str
    number: int
    output_bytes: int
    started_at: int
    launcher_pid: int
    launcher_start: int


class OpenNotice(Struct, frozen=True, gc=False):
    """An event about a job that the model was not told of."""

    conversation_id: str
    number: int
    source_seq: int


class OpenWork(Struct, frozen=True):
    """Everything that was in flight."""

    questions: Sequence[PendingQuestion]
    turns: Sequence[TurnRow]
    shells: Sequence[OpenShell]
    jobs: Sequence[OpenJob]
    notices: Sequence[OpenNotice]


# Ends the job's process if it is still the one that started then; says whether it was there.
EndLauncher = Callable[[int, int], bool]


def open_work(conn: Connection) -> OpenWork:
    """What was in flight when the last daemon stopped, or is in flight now."""
    return OpenWork(
        questions=pending_approvals(conn, None),
        turns=open_turns(conn),
        shells=[
            OpenShell(*row)
            for row in conn.execute(
                "SELECT conversation_id, pty_id, running_call FROM shells"
                " WHERE exited_at IS NULL ORDER BY started_seq"
            )
        ],
        jobs=[
            OpenJob(*row)
            for row in conn.execute(
                "SELECT conversation_id, number, output_bytes, started_at, launcher_pid,"
                " launcher_start FROM jobs WHERE state = 'running' ORDER BY start_seq"
            )
        ],
        notices=[
            OpenNotice(*row)
            for row in conn.execute(
                "SELECT conversation_id, number, source_seq FROM job_notices"
                " WHERE turn_id IS NULL AND held IS NULL ORDER BY source_seq"
            )
        ],
    )


def reconcile(
    conn: Connection,
    clock: Clock,
    end_launcher: EndLauncher | None = None,
    *,
    lost: Mapping[str, str] = MappingProxyType({}),
) -> list[NotRun]:
    """Records the end of everything that was in flight; returns the prompts that never ran, in
    the order they were queued. `lost` is what is known of calls, in the place of their results.
    Blocks; raises faults of the store."""
    with db.translated(db.path_of(conn), conn):
        work = open_work(conn)
        not_run = [
            _not_run(conn, turn)
            for turn in work.turns
            if turn.status != "running" and not turn.wake
        ]
        events = _ends(conn, work, clock, end_launcher, lost)
        appender = Appender(conn, clock)
        for conversation_id, ends in events.items():
            _append(appender, conversation_id, ends)
        _hold_notices(conn, appender)
        db.transact(conn, lambda: settle_after_stop(conn, clock.now_us()))
    return not_run


def _append(appender: Appender, conversation_id: str, events: Iterable[ev.Event]) -> None:
    batch = Batch(tuple(NewEvent(conversation_id, event) for event in events))
    (outcome,) = appender.append((batch,)).outcomes
    if isinstance(outcome, Exception):
        raise outcome


def _ends(
    conn: Connection,
    work: OpenWork,
    clock: Clock,
    end_launcher: EndLauncher | None,
    lost: Mapping[str, str],
) -> dict[str, list[ev.Event]]:
    """For each conversation: questions, then calls and turns, then prompts, shells and jobs."""
    ends: dict[str, list[ev.Event]] = defaultdict(list)
    unanswered = {one.id: UNANSWERED_RESULT for one in work.questions if one.about != "surface"}
    lost = {**unanswered, **lost}
    for question in work.questions:
        ends[question.conversation_id].append(_unanswered(question))
    for turn in work.turns:
        if turn.status == "running":
            ends[turn.conversation_id].extend(_lost_calls(conn, turn, lost))
            ends[turn.conversation_id].append(ev.TurnCancelled(turn.id))
    for turn in work.turns:
        if turn.status != "running":
            ends[turn.conversation_id].append(ev.TurnCancelled(turn.id))
    for shell in work.shells:
        ends[shell.conversation_id].extend(_shell_ends(shell))
    for job in work.jobs:
        found = end_launcher is not None and end_launcher(job.launcher_pid, job.launcher_start)
        ends[job.conversation_id].append(_job_end(job, clock.now_us(), lost=not found))
    return ends


def _unanswered(question: PendingQuestion) -> ev.Event:
    if question.about == "surface":
        return ev.SurfaceQuestionAnswered(question.turn_id, question_id=question.id, keep=False)
    return ev.ApprovalExpired(question.turn_id, call_id=question.id)


def _lost_calls(conn: Connection, turn: TurnRow, lost: Mapping[str, str]) -> Iterator[ev.Event]:
    """A failed result for each call of the turn that has none, in the order they started."""
    rows = conn.execute(
        "SELECT kind, payload ->> '$.call_id' FROM events WHERE conversation_id = ?"
        " AND seq BETWEEN ? AND ? AND turn_id = ?"
        " AND kind IN ('tool_call_started', 'tool_call_completed') ORDER BY seq",
        (turn.conversation_id, turn.queued_seq, turn.last_seq, turn.id),
    )
    calls: dict[str, None] = {}
    for kind, call_id in rows:
        if kind == "tool_call_started":
            calls[str(call_id)] = None
        else:
            calls.pop(str(call_id), None)
    for call_id in calls:
        yield ev.ToolCallCompleted(
            turn.id,
            call_id=call_id,
            output=lost.get(call_id, LOST_RESULT),
            truncated=False,
            is_error=True,
        )


def _shell_ends(shell: OpenShell) -> Iterator[ev.Event]:
    if shell.running_call is not None:
        yield ev.ShellCommandEnded(call_id=shell.running_call, how=t.ShellCommandEnd.SHELL_EXITED)
    yield ev.ShellExited(pty_id=shell.pty_id)


def _job_end(job: OpenJob, now_us: int, *, lost: bool) -> ev.Event:
    return ev.JobEnded(
        job_id=f"j{job.number}",
        state=t.JobState.STOPPED,
        stopped_by=t.JobStopBy.DAEMON_RESTART,
        output_bytes=job.output_bytes,
        ran_secs=max(0, now_us - job.started_at) // 1_000_000,
        tail="",
        launcher_lost=lost,
    )


def _hold_notices(conn: Connection, appender: Appender) -> None:
    """What nobody decided about yet, the ends just written included, waits for the user's turn."""
    held: dict[str, list[ev.Event]] = defaultdict(list)
    for notice in open_work(conn).notices:
        held[notice.conversation_id].append(
            ev.JobNoticeHeld(
                job_id=f"j{notice.number}",
                source_seq=notice.source_seq,
                reason=t.HeldReason.DAEMON_RESTART,
            )
        )
    for conversation_id, events in held.items():
        _append(appender, conversation_id, events)


def _not_run(conn: Connection, turn: TurnRow) -> NotRun:
    tty = conn.execute(
        "SELECT payload ->> '$.context.tty' FROM events WHERE seq = ?", (turn.queued_seq,)
    ).get
    return NotRun(None if tty is None else str(tty), turn.prompt)
