"""Deleting what is left of a conversation after its tombstone: rows, snapshots, files.

The tombstone commits with the `conversation_deleted` event (`efr.store.projections.deletes`); from
then on nobody sees the conversation. Each step here may be cut by a kill and done again: `finish`
goes on where the marks in the tombstone's row say. Rows go in jobs of the writer that are short, so
the prompts of other conversations run in between.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from efr.base.clock import Clock
from efr.store import db
from efr.store.db import Connection
from efr.store.delete_files import Places, remove_files
from efr.store.errors import StoreFault
from efr.wire import codec

log = logging.getLogger("efr.store")

T = TypeVar("T")

# Events that one job deletes at most, and of their indexed text: each document is split into words
# once more to leave the index, which is what takes the time.
PAGE_EVENTS: Final = 2000
PAGE_TEXT: Final = 64 << 10  # characters


class OpenDelete(Struct, frozen=True):
    """A delete that is not done. `ptys` and `undos` name its recordings and its undo trash."""

    conversation_id: str
    ptys: tuple[str, ...]
    undos: tuple[str, ...]
    rows_done: bool


class Run(Protocol):
    """Runs a job in a transaction of its own: on the writer, or at a start in place."""

    def __call__(self, job: Callable[[Connection], T], /) -> T: ...


class Snapshots(Protocol):
    """The snapshot stores."""

    def forget(self, conversation_id: str) -> list[Path]:
        """Removes what belongs to the conversation; returns what is left. Blocks."""
        ...


class Deletes:
    """How deletes are finished. `reached` is told each step's name, and may raise to stop there."""

    def __init__(
        self,
        places: Places,
        snapshots: Snapshots,
        clock: Clock,
        reached: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._places = places
        self._snapshots = snapshots
        self._clock = clock
        self._reached = reached

    def finish(self, run: Run, delete: OpenDelete) -> list[Path]:
        """Everything after the tombstone; returns what could not be removed, or what its rows
        stay in. Blocks. Raises faults of the store; a call at the next start goes on from there.
        """
        conversation_id = delete.conversation_id
        left = [] if delete.rows_done else self._remove_rows(run, delete)
        left += self._snapshots.forget(conversation_id)
        self._reached("snapshots deleted")
        left += remove_files(self._places, conversation_id, delete.ptys, delete.undos)
        self._reached("files deleted")
        if left:
            log.warning("%d files with something of a deleted conversation are left", len(left))
        else:
            run(lambda conn: mark_done(conn, conversation_id, self._clock.now_us()))
            self._reached("done")
        return left

    def _remove_rows(self, run: Run, delete: OpenDelete) -> list[Path]:
        """Returns the database's file when something stays in it, as on a damaged page. The rest
        of the conversation goes all the same."""
        job = partial(delete_page, conversation_id=delete.conversation_id)
        try:
            while run(job):
                self._reached("events deleted")
            run(lambda conn: delete_rest(conn, delete, self._clock.now_us()))
        except StoreFault as exc:
            log.error(
                "rows of a deleted conversation stay in the database until a start can remove "
                "them; docs/operations.md says what to do about a damaged one: %s",
                exc,
            )
            return [exc.path]
        self._reached("rows deleted")
        return []

    def finish_open(self, conn: Connection) -> None:
        """At a start, before the socket opens: every delete that is not done. A fault of the store
        leaves one to the next start, for nobody sees the conversation anyway."""

        def run(job: Callable[[Connection], T], /) -> T:
            with db.translated(db.path_of(conn), conn):
                return db.transact(conn, lambda: job(conn))

        for delete in open_deletes(conn):
            try:
                self.finish(run, delete)
            except StoreFault as exc:
                log.error("a delete is left to the next start: %s", exc)


def open_deletes(conn: Connection) -> list[OpenDelete]:
    """The deletes that are not done, the oldest first."""
    rows: Any = conn.execute(
        "SELECT conversation_id, parts, rows_done_at IS NOT NULL FROM conversation_deletes"
        " WHERE done_at IS NULL ORDER BY seq"
    ).fetchall()
    return [_open(*row) for row in rows]


def open_delete(conn: Connection, conversation_id: str) -> OpenDelete | None:
    """One of them."""
    found = [one for one in open_deletes(conn) if one.conversation_id == conversation_id]
    return found[0] if found else None


def _open(conversation_id: str, parts: str, rows_done: int) -> OpenDelete:
    named = codec.decode(parts.encode(), _Parts)
    return OpenDelete(conversation_id, named.ptys, named.undos, bool(rows_done))


class _Parts(Struct, frozen=True):
    ptys: tuple[str, ...] = ()
    undos: tuple[str, ...] = ()


def delete_page(conn: Connection, conversation_id: str) -> bool:
    """A writer job: the next events before the tombstone, with their documents and the receipts
    that name them. False when no event is left."""
    seqs: list[Any] = conn.execute(
        "SELECT events.seq, coalesce(length(doc.text), 0) FROM events"
        " LEFT JOIN search_docs AS doc ON doc.seq = events.seq"
        " WHERE events.conversation_id = ?1"
        " AND events.seq < (SELECT seq FROM conversation_deletes WHERE conversation_id = ?1)"
        " ORDER BY events.seq LIMIT ?2",
        (conversation_id, PAGE_EVENTS),
    ).fetchall()
    if not seqs:
        return False
    size, last = 0, seqs[0][0]
    for seq, length in seqs:
        size += length
        if size > PAGE_TEXT and seq != seqs[0][0]:
            break
        last = seq
    _drop_documents(conn, conversation_id, last)
    bounds = (conversation_id, seqs[0][0], last)
    conn.execute(
        "DELETE FROM receipts WHERE seq IN"
        " (SELECT seq FROM events WHERE conversation_id = ? AND seq BETWEEN ? AND ?)",
        bounds,
    )
    conn.execute("DELETE FROM events WHERE conversation_id = ? AND seq BETWEEN ? AND ?", bounds)
    return True


def delete_rest(conn: Connection, delete: OpenDelete, now_us: int) -> None:
    """The last writer job on rows: what no event names, and the mark that the rows are gone."""
    conversation_id = delete.conversation_id
    _drop_documents(conn, conversation_id, _ABOVE_ALL)
    for table in ("turn_messages", "search_titles"):
        conn.execute(f"DELETE FROM {table} WHERE conversation_id = ?", (conversation_id,))
    conn.execute("DELETE FROM outbox WHERE payload ->> '$.conversation_id' = ?", (conversation_id,))
    conn.executemany(
        "DELETE FROM recording_segments WHERE pty_id = ?", [(pty_id,) for pty_id in delete.ptys]
    )
    conn.execute(
        "UPDATE conversation_deletes SET rows_done_at = ? WHERE conversation_id = ?",
        (now_us, conversation_id),
    )


def mark_done(conn: Connection, conversation_id: str, now_us: int) -> None:
    """Nothing is left."""
    conn.execute(
        "UPDATE conversation_deletes SET done_at = ? WHERE conversation_id = ?",
        (now_us, conversation_id),
    )


_ABOVE_ALL: Final = (1 << 63) - 1  # the largest integer of SQLite


def _drop_documents(conn: Connection, conversation_id: str, upto: int) -> None:
    """Each leaves the FTS table with the text that it went in with (sqlite.org/fts5.html, "The
    'delete' Command")."""
    docs: list[Any] = conn.execute(
        "SELECT seq, text FROM search_docs WHERE conversation_id = ? AND seq <= ?",
        (conversation_id, upto),
    ).fetchall()
    conn.executemany(
        "INSERT INTO search_fts (search_fts, rowid, text) VALUES ('delete', ?, ?)", docs
    )
    conn.execute(
        "DELETE FROM search_docs WHERE conversation_id = ? AND seq <= ?", (conversation_id, upto)
    )
