"""The table of the recordings' segments, filled from threads that must not wait.

A row is a hint for the collector and for a start; the files are the truth. A row that cannot be
written costs one line in the log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

from efr.store import db
from efr.store.chunks import OUTPUT, Chunks
from efr.store.db import Connection
from efr.store.errors import StoreClosed
from efr.store.recorded import RecordedRange, read_range, segment_path, segment_starts

log = logging.getLogger("efr.store")


class Poster(Protocol):
    """The writer's way in that never blocks."""

    def post(self, job: Callable[[Connection], None]) -> Future[None]:
        """Runs a small job in a transaction of its own, some time soon."""


class StoredSegments:
    """`SegmentIndex` in the database. Any thread. `grew` hears how many bytes a segment has that
    was closed."""

    def __init__(self, writer: Poster, grew: Callable[[int], None] = lambda _: None) -> None:
        self._writer = writer
        self._grew = grew

    def opened(self, pty_id: str, start_seq: int, at_us: int) -> None:
        """A row with no end."""
        path = f"{pty_id}/{segment_path(Path(), start_seq).name}"
        self._post(
            "INSERT OR IGNORE INTO recording_segments"
            " (pty_id, start_seq, path, bytes, started_at) VALUES (?, ?, ?, 0, ?)",
            (pty_id, start_seq, path, at_us),
        )

    def closed(self, pty_id: str, start_seq: int, size_bytes: int, at_us: int) -> None:
        """Its length and its end."""
        self._post(
            "UPDATE recording_segments SET bytes = ?, closed_at = ?"
            " WHERE pty_id = ? AND start_seq = ?",
            (size_bytes, at_us, pty_id, start_seq),
        )
        self._grew(size_bytes)

    def _post(self, sql: str, values: tuple[str | int, ...]) -> None:
        def job(conn: Connection) -> None:
            conn.execute(sql, values)

        try:
            self._writer.post(job).add_done_callback(_report)
        except StoreClosed as exc:
            log.warning("a recording's row was not written: %s", exc)


def _report(reply: Future[None]) -> None:
    if (exc := reply.exception()) is not None:
        log.warning("a recording's row was not written: %s", exc)


def close_open_segments(conn: Connection, directory: Path, at_us: int) -> None:
    """At a start: what the last daemon left open gets its end, from the file. One transaction;
    blocks for the reading of those files."""
    with db.translated(db.path_of(conn), conn):
        db.transact(conn, lambda: _close_open(conn, directory, at_us))


def _close_open(conn: Connection, directory: Path, at_us: int) -> None:
    rows: list[Any] = conn.execute(
        "SELECT pty_id, start_seq FROM recording_segments"
        " WHERE closed_at IS NULL AND path IS NOT NULL"
    ).fetchall()
    for pty_id, start_seq in rows:
        size_bytes = _stream_bytes(segment_path(directory / pty_id, start_seq))
        if size_bytes is None:
            conn.execute(
                "DELETE FROM recording_segments WHERE pty_id = ? AND start_seq = ?",
                (pty_id, start_seq),
            )
        else:
            conn.execute(
                "UPDATE recording_segments SET bytes = ?, closed_at = ?"
                " WHERE pty_id = ? AND start_seq = ?",
                (size_bytes, at_us, pty_id, start_seq),
            )


def _stream_bytes(path: Path) -> int | None:
    """The output in a segment file; None when it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return sum(chunk.end - chunk.begin for chunk in Chunks(data) if chunk.kind == OUTPUT)


def recorded_end(conn: Connection, pty_id: str) -> int | None:
    """The offset behind the last recorded byte of a PTY, also when all of it was collected."""
    row: Any = conn.execute(
        "SELECT start_seq + bytes FROM recording_segments WHERE pty_id = ?"
        " ORDER BY start_seq DESC LIMIT 1",
        (pty_id,),
    ).fetchone()
    return None if row is None else int(row[0])


def read_recorded(
    conn: Connection, directory: Path, pty_id: str, start: int, end: int
) -> RecordedRange:
    """The stream of a PTY that nobody writes to any more. `start` of the answer is later than asked
    for when the first segments were collected, and the offset behind the last byte when all were.
    Raises OSError."""
    folder = directory / pty_id
    if not segment_starts(folder) and (after := recorded_end(conn, pty_id)) is not None:
        return RecordedRange(after, after, (), ())
    return read_range(folder, start, end)
