"""store-reader-N: reads of one moment, side by side, never a write."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from efr.store import queries
from efr.store.db import Connection
from efr.store.errors import StoreCannotOpen, StoreClosed, StoreCorrupt, StoreReadOnly
from efr.threads.readers import ReaderPool
from tests.store.samples import (
    CONVERSATION,
    OTHER,
    append,
    appending,
    batch,
    created,
    queued,
    said,
)

LIMIT_S = 20.0


@contextmanager
def reading(path: Path, count: int = 4) -> Iterator[ReaderPool]:
    pool = ReaderPool(path, count)
    pool.start()
    try:
        yield pool
    finally:
        pool.stop()


def test_a_read_sees_one_moment(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created())

        def twice(conn: Connection) -> tuple[int, int]:
            before = queries.high_water(conn)
            append(appender, batch(queued()))
            return before, queries.high_water(conn)

        with reading(tmp_path / "efr.sqlite", 1) as pool:
            # The appender's connection is used on the reader's thread here: apsw allows it, and
            # nobody else uses it meanwhile.
            assert pool.read(twice) == (1, 1)
            assert pool.read(queries.high_water) == 2


def test_a_reader_keeps_nothing_of_its_last_answer(tmp_path: Path) -> None:
    class Large:
        """Such as the history of a conversation."""

    with appending(tmp_path), reading(tmp_path / "efr.sqlite", 1) as pool:
        answer = pool.read(lambda conn: Large())
        kept, gone = weakref.ref(answer), threading.Event()
        weakref.finalize(answer, gone.set)
        del answer
        assert gone.wait(LIMIT_S)
        assert kept() is None


def test_a_stuck_reader_holds_up_no_other(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created())
    entered, go = threading.Event(), threading.Event()

    def stick(_: Connection) -> None:
        entered.set()
        assert go.wait(LIMIT_S)

    with reading(tmp_path / "efr.sqlite", 2) as pool:
        stuck = threading.Thread(target=pool.read, args=(stick,))
        stuck.start()
        assert entered.wait(LIMIT_S)
        assert [pool.read(queries.high_water) for _ in range(20)] == [1] * 20
        go.set()
        stuck.join(LIMIT_S)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created())
    with reading(tmp_path / "efr.sqlite") as pool:
        with pytest.raises(StoreReadOnly):
            pool.read(lambda conn: conn.execute("DELETE FROM receipts"))
        assert pool.read(queries.high_water) == 1


def test_what_a_read_raises_reaches_its_caller(tmp_path: Path) -> None:
    def fail(_: Connection) -> None:
        raise KeyError("x")

    with appending(tmp_path):
        pass
    with reading(tmp_path / "efr.sqlite") as pool:
        with pytest.raises(KeyError):
            pool.read(fail)
        assert pool.read(queries.high_water) == 0


def test_a_missing_database_reaches_the_starter(tmp_path: Path) -> None:
    pool = ReaderPool(tmp_path / "none.sqlite")
    with pytest.raises(StoreCannotOpen):
        pool.start()
    assert not (tmp_path / "none.sqlite").exists()


def test_after_the_stop_nobody_reads(tmp_path: Path) -> None:
    with appending(tmp_path):
        pass
    with reading(tmp_path / "efr.sqlite") as pool:
        pass
    pool.stop()
    with pytest.raises(StoreClosed):
        pool.read(queries.high_water)


def test_a_damaged_page_fails_the_reads_that_hit_it_and_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The leaf pages of one conversation's events are overwritten; another one's are whole."""
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), created(OTHER))
        big = "x" * 1000
        append(appender, *(batch(said(big), conversation=OTHER) for _ in range(40)))
        append(appender, *(batch(said(big)) for _ in range(40)))
        page = int(
            conn.execute(
                "SELECT pageno FROM dbstat WHERE name = 'events' AND pagetype = 'leaf'"
                " ORDER BY pageno DESC LIMIT 1"
            ).get
        )
    path = tmp_path / "efr.sqlite"
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = bytes(4096)
    path.write_bytes(data)

    with reading(path) as pool:
        with pytest.raises(StoreCorrupt):
            pool.read(lambda c: queries.newest_events(c, CONVERSATION, None, 100, 1 << 20))
        events, _ = pool.read(lambda c: queries.newest_events(c, OTHER, None, 100, 1 << 20))
    assert len(events) == 41
    asker = f"{__name__}.test_a_damaged_page_fails_the_reads_that_hit_it_and_no_other"
    assert f"a read of {asker} hit a damaged page: {path}: " in caplog.text


def test_a_read_that_broke_off_holds_up_no_checkpoint(tmp_path: Path) -> None:
    class OfOurs(Exception):
        pass

    def break_off(conn: Connection) -> None:
        rows = conn.execute("SELECT seq FROM events")
        raise OfOurs(*next(rows))

    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()))
        with reading(tmp_path / "efr.sqlite", 1) as pool:
            with pytest.raises(OfOurs) as kept:
                pool.read(break_off)
            append(appender, batch(said()))
            frames, moved = conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            assert frames == moved > 0
        assert kept.value.args == (1,)
