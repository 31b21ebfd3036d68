"""The projections `jobs` and `job_notices`: background jobs, and what the model is told of them.

A notice's row exists from the event it tells about (`job_ended`, `job_watch_matched`) on, so a
start of the daemon finds those that no turn took.
"""

from __future__ import annotations

from efr.store.batch import Entry
from efr.store.db import Connection
from efr.store.projections import turns
from efr.store.projections.events import event_of, json_of
from efr.wire import events as ev
from efr.wire import types as t


def number_of(job_id: str) -> int:
    """The number in `j12`."""
    return int(job_id[1:])


def started(conn: Connection, entry: Entry) -> None:
    """A job runs."""
    event = event_of(entry, ev.JobStarted)
    job = event.job
    conn.execute(
        "INSERT INTO jobs (conversation_id, number, turn_id, call_id, command, launch, state,"
        " started_at, ends_by, output_bytes, launcher_pid, launcher_start, start_seq, info)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            entry.conversation_id,
            number_of(job.id),
            event.turn_id,
            event.call_id,
            job.command,
            json_of(job.launch),
            job.state.value,
            t.time_to_us(job.started_at),
            t.time_to_us(job.ends_by),
            job.output_bytes,
            event.launcher_pid,
            event.launcher_start,
            entry.seq,
            json_of(job),
        ),
    )


def watch_matched(conn: Connection, entry: Entry) -> None:
    """A line of its output matched: one wake is used up, one notice is due."""
    event = event_of(entry, ev.JobWatchMatched)
    conn.execute(
        "UPDATE jobs SET info = json_set(info, '$.wakes',"
        " max(0, coalesce(info ->> '$.watch.max_wakes', 0) - ?))"
        " WHERE conversation_id = ? AND number = ?",
        (event.wakes_left, entry.conversation_id, number_of(event.job_id)),
    )
    _notice_due(conn, entry, event.job_id, t.NoticeKind.WATCH)


def ended(conn: Connection, entry: Entry) -> None:
    """It is over; one notice is due."""
    event = event_of(entry, ev.JobEnded)
    conn.execute(
        "UPDATE jobs SET state = ?, ended_at = ?, exit_code = ?, stopped_by = ?, output_bytes = ?"
        " WHERE conversation_id = ? AND number = ?",
        (
            event.state.value,
            entry.at_us,
            event.exit_code,
            None if event.stopped_by is None else event.stopped_by.value,
            event.output_bytes,
            entry.conversation_id,
            number_of(event.job_id),
        ),
    )
    _notice_due(conn, entry, event.job_id, t.NoticeKind.EXITED)


def _notice_due(conn: Connection, entry: Entry, job_id: str, kind: t.NoticeKind) -> None:
    conn.execute(
        "INSERT INTO job_notices (source_seq, conversation_id, number, kind)"
        " VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (entry.seq, entry.conversation_id, number_of(job_id), kind.value),
    )


def noticed(conn: Connection, entry: Entry) -> None:
    """A turn took the notice; with `woke` the notice started that turn."""
    event = event_of(entry, ev.JobNotice)
    if event.woke:
        turns.woken(conn, entry, event.text)
    conn.execute(
        "UPDATE job_notices SET turn_id = ? WHERE source_seq = ?",
        (event.turn_id, event.source_seq),
    )


def notice_held(conn: Connection, entry: Entry) -> None:
    """The notice waits for the next turn of a user."""
    event = event_of(entry, ev.JobNoticeHeld)
    conn.execute(
        "UPDATE job_notices SET held = ? WHERE source_seq = ?",
        (event.reason.value, event.source_seq),
    )
