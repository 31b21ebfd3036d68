"""When the write-ahead log is moved, how long it gets, and what readers do to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from efr.store import db
from efr.store.checkpoints import (
    EAGER_FRAMES,
    USUAL_FRAMES,
    WriteConnection,
    eager_checkpoints,
)
from tests.store.samples import new_database

LIMIT_S = 20.0
FRAME = 4096 + 24  # sqlite.org/fileformat2.html, "The Write-Ahead Log"


class Counting(WriteConnection):
    """Counts its moves, by their mode."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), apsw.SQLITE_OPEN_READWRITE)
        self.modes: list[int] = []

    def wal_checkpoint(self, dbname: str | None = None, mode: int = 0) -> tuple[int, int]:
        self.modes.append(mode)
        return super().wal_checkpoint(dbname, mode)


@contextmanager
def counting(directory: Path, **settings: Any) -> Iterator[Counting]:
    with closing(Counting(new_database(directory))) as conn:
        conn.pragma("synchronous", 0)
        for name, value in settings.items():
            setattr(conn, name, value)
        yield conn


def commit(conn: WriteConnection, times: int = 1) -> None:
    """Each adds a page or two to the log."""
    for _ in range(times):
        conn.execute("INSERT INTO outbox (kind, payload, replay_safe, created_at) VALUES (?,?,0,0)",
                     ("x" * 2000, "{}"))  # fmt: skip


def frames(directory: Path) -> int:
    return (directory / "efr.sqlite-wal").stat().st_size // FRAME


def test_the_log_begins_anew_when_it_has_grown_and_nobody_reads(tmp_path: Path) -> None:
    with counting(tmp_path, every=20) as conn:
        commit(conn, 200)
        assert frames(tmp_path) < 30
        assert set(conn.modes) == {apsw.SQLITE_CHECKPOINT_PASSIVE}


def test_beside_a_reader_it_is_moved_once_for_so_many_frames(tmp_path: Path) -> None:
    with counting(tmp_path, every=20) as conn:
        with closing(db.open(tmp_path / "efr.sqlite", read_only=True)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT max(seq) FROM events").fetchall()
            commit(conn, 200)
            grown = frames(tmp_path)
            assert grown > 200
            assert len(conn.modes) <= grown / 20
        commit(conn, 60)
        assert frames(tmp_path) < grown + 40, "it began anew"


def test_over_its_limit_the_log_waits_for_readers_that_take_turns(tmp_path: Path) -> None:
    """One of them always stands in the log, so a passive move never empties it."""
    over = threading.Event()
    with counting(tmp_path, every=20, long_frames=100) as conn:
        readers = [threading.Thread(target=read_in_turns, args=(tmp_path, over)) for _ in range(2)]
        for one in readers:
            one.start()
        try:
            commit(conn, 400)
        finally:
            over.set()
            for one in readers:
                one.join(LIMIT_S)
        assert frames(tmp_path) < 600


def read_in_turns(directory: Path, over: threading.Event) -> None:
    with closing(db.open(directory / "efr.sqlite", read_only=True)) as reader:
        while not over.is_set():
            db.read(reader, lambda: reader.execute("SELECT sum(length(kind)) FROM outbox").get)


def test_a_reader_that_never_ends_is_not_waited_for_long(tmp_path: Path) -> None:
    with counting(tmp_path, every=20, long_frames=40) as conn:
        conn.set_busy_timeout(5000)
        with closing(db.open(tmp_path / "efr.sqlite", read_only=True)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT max(seq) FROM events").fetchall()
            commit(conn, 20)
            assert apsw.SQLITE_CHECKPOINT_RESTART in conn.modes
            assert conn.pragma("busy_timeout") == 5000
            assert conn.execute("SELECT count(*) FROM outbox").get == 20


def test_an_owner_moves_it_when_it_likes(tmp_path: Path) -> None:
    with counting(tmp_path, every=20, in_commit=False) as conn:
        commit(conn, 60)
        assert conn.modes == []
        conn.move_if_due()
        conn.move_if_due()
        assert conn.modes == [apsw.SQLITE_CHECKPOINT_PASSIVE]


def test_search_jobs_move_it_at_half_the_usual_length(tmp_path: Path) -> None:
    with counting(tmp_path, in_commit=False) as conn:
        assert conn.every == USUAL_FRAMES == 1000
        with eager_checkpoints(conn):
            assert (conn.every, conn.in_commit) == (EAGER_FRAMES, True)
            assert EAGER_FRAMES == 500
        assert (conn.every, conn.in_commit) == (USUAL_FRAMES, False)
