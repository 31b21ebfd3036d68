"""search-lane-N: three at a time, a newer search instead of the waiting one, cancels."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.base.clock import SystemClock
from efr.store.db import Connection
from efr.store.errors import StoreBusy, StoreClosed, StoreFault
from efr.threads.right_of_way import RightOfWay
from efr.threads.search_lanes import INBOX, LANES, Asker, Replaced, SearchLanes
from tests.search.samples import a_store
from tests.store.samples import new_database

LIMIT_S = 20.0
_numbers = count()


def asker(who: object) -> Asker:
    """The next search of somebody."""
    return Asker(str(who), next(_numbers))


@contextmanager
def lanes(path: Path, way: RightOfWay | None = None) -> Iterator[SearchLanes]:
    pool = SearchLanes(path, way or RightOfWay(SystemClock()))
    pool.start()
    try:
        yield pool
    finally:
        pool.stop()


class Held:
    """A search that runs until it is let go."""

    def __init__(self) -> None:
        self.entered, self.go = threading.Event(), threading.Event()

    def __call__(self, conn: Connection) -> int:
        self.entered.set()
        assert self.go.wait(LIMIT_S)
        return int(conn.execute("SELECT 1").get)


@contextmanager
def all_held(pool: SearchLanes) -> Iterator[list[Held]]:
    """Every lane at work."""
    held = [Held() for _ in range(LANES)]
    replies = [pool.ask(asker(f"holder {n}"), one) for n, one in enumerate(held)]
    for one in held:
        assert one.entered.wait(LIMIT_S)
    try:
        yield held
    finally:
        for one in held:
            one.go.set()
        assert [reply.result(LIMIT_S) for reply in replies] == [1] * LANES


def one(conn: Connection) -> int:
    return int(conn.execute("SELECT 1").get)


def test_three_run_and_the_fourth_waits(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool:
        with all_held(pool):
            fourth = pool.ask(asker("a"), one)
            assert not fourth.done()
        assert fourth.result(LIMIT_S) == 1


def test_a_newer_search_takes_the_place_of_the_waiting_one(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool:
        with all_held(pool):
            older, other, newer = (
                pool.ask(asker("a"), one),
                pool.ask(asker("b"), one),
                pool.ask(asker("a"), one),
            )
            with pytest.raises(Replaced):
                older.result(LIMIT_S)
            assert not other.done()
        assert (other.result(LIMIT_S), newer.result(LIMIT_S)) == (1, 1)


def test_an_older_search_that_comes_late_is_the_one_that_goes(tmp_path: Path) -> None:
    """Requests of one connection may reach the lanes in another order than they came."""
    with lanes(new_database(tmp_path)) as pool:
        with all_held(pool):
            newer = pool.ask(Asker("a", 2), one)
            older = pool.ask(Asker("a", 1), one)
            with pytest.raises(Replaced):
                older.result(LIMIT_S)
        assert newer.result(LIMIT_S) == 1


def test_a_running_search_is_not_replaced(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool:
        held = Held()
        running = pool.ask(asker("a"), held)
        assert held.entered.wait(LIMIT_S)
        assert pool.ask(asker("a"), one).result(LIMIT_S) == 1
        held.go.set()
        assert running.result(LIMIT_S) == 1


def test_too_many_are_refused(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool:
        with all_held(pool):
            waiting = [pool.ask(asker(n), one) for n in range(INBOX)]
            with pytest.raises(StoreBusy):
                pool.ask(asker("one more"), one)
            pool.ask(asker(0), one)  # in the place of its own
            assert isinstance(waiting[0].exception(LIMIT_S), Replaced)
        assert [reply.result(LIMIT_S) for reply in waiting[1:]] == [1] * (INBOX - 1)


def test_a_connection_opens_with_the_first_search(tmp_path: Path) -> None:
    with lanes(tmp_path / "efr.sqlite") as pool:  # nothing there yet
        assert isinstance(pool.ask(asker("a"), one).exception(LIMIT_S), StoreFault)
        new_database(tmp_path)
        assert pool.ask(asker("a"), one).result(LIMIT_S) == 1


def test_a_cancelled_search_that_waits_never_runs(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool, all_held(pool):
        cancel = Cancel()
        waiting = pool.ask(asker("a"), one, cancel)
        cancel.cancel()
        with pytest.raises(Cancelled):
            waiting.result(LIMIT_S)


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


def test_a_cancel_cuts_the_statement_and_the_lane_goes_on(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool:
        entered = threading.Event()

        def endless(conn: Connection) -> int:
            entered.set()
            return int(conn.execute(ENDLESS).get)

        cancels = [Cancel() for _ in range(LANES)]
        replies = [pool.ask(asker(n), endless, cancel) for n, cancel in enumerate(cancels)]
        assert entered.wait(LIMIT_S)
        for cancel in cancels:
            cancel.cancel()
        for reply in replies:
            with pytest.raises(Cancelled):
                reply.result(LIMIT_S)
        assert [pool.ask(asker(n), one).result(LIMIT_S) for n in range(LANES)] == [1] * LANES


def test_a_search_that_fails_ends_no_lane(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool:
        for _ in range(LANES + 1):
            reply = pool.ask(asker("a"), lambda conn: conn.execute("SELECT nothing"))
            assert isinstance(reply.exception(LIMIT_S), StoreFault)
            assert isinstance(
                pool.ask(asker("a"), lambda conn: 1 // 0).exception(LIMIT_S), Exception
            )
        assert pool.ask(asker("a"), one).result(LIMIT_S) == 1


def test_a_search_reads_one_moment_and_never_writes(tmp_path: Path) -> None:
    with a_store(tmp_path) as store, lanes(store.path) as pool:

        def twice(conn: Connection) -> tuple[int, int]:
            count = "SELECT count(*) FROM conversations"
            before = int(conn.execute(count).get)
            store.conversation()
            return before, int(conn.execute(count).get)

        assert pool.ask(asker("a"), twice).result(LIMIT_S) == (0, 0)
        write = pool.ask(
            asker("a"), lambda conn: conn.execute("DELETE FROM search_docs").fetchall()
        )
        assert isinstance(write.exception(LIMIT_S), StoreFault)


def test_a_stop_answers_everybody(tmp_path: Path) -> None:
    pool = SearchLanes(new_database(tmp_path), RightOfWay(SystemClock()))
    pool.start()
    held = [Held() for _ in range(LANES)]
    running = [pool.ask(asker(n), one) for n, one in enumerate(held)]
    for one_held in held:
        assert one_held.entered.wait(LIMIT_S)
    waiting = pool.ask(asker("a"), one)
    stopping = threading.Thread(target=pool.stop)
    stopping.start()
    assert isinstance(waiting.exception(LIMIT_S), StoreClosed)
    for one_held in held:
        one_held.go.set()
    stopping.join(LIMIT_S)
    assert [reply.result(LIMIT_S) for reply in running] == [1] * LANES
    with pytest.raises(StoreClosed):
        pool.ask(asker("a"), one)
    pool.stop()


def test_the_lanes_have_a_small_cache(tmp_path: Path) -> None:
    with lanes(new_database(tmp_path)) as pool:
        assert pool.ask(asker("a"), lambda conn: conn.pragma("cache_size")).result(LIMIT_S) == -512


def test_a_search_lets_the_batches_go_first_and_loses_its_patience(tmp_path: Path) -> None:
    way = RightOfWay(SystemClock())
    with lanes(new_database(tmp_path), way) as pool:
        way.claim()
        assert pool.ask(asker("a"), one).result(LIMIT_S) == 1, "in the end it goes on"
