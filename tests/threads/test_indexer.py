"""search-indexer: backfill, news, pauses, faults, kills."""

from __future__ import annotations

import logging
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from efr.base.clock import Clock, SystemClock
from efr.store.batch import Batch, NewEvent
from efr.store.errors import StoreClosed, StoreFull
from efr.store.feed import Feed
from efr.store.history import high_water
from efr.store.search.state import prepare, state
from efr.threads.indexer import Indexer, pause_s
from efr.threads.reply import Reply
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from tests.search.samples import Store, a_store, check
from tests.store.samples import an_id, new_database, opened

ROOT = Path(__file__).parents[2]
LIMIT_S = 20.0


class Steps:
    """What the indexer reached, in order."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()

    def __call__(self, step: str) -> None:
        self._queue.put(step)

    def wait_for(self, step: str) -> list[str]:
        """Blocks until that step; all up to it."""
        seen = [self._queue.get(timeout=LIMIT_S)]
        while seen[-1] != step:
            seen.append(self._queue.get(timeout=LIMIT_S))
        return seen

    def so_far(self) -> list[str]:
        seen = []
        while not self._queue.empty():
            seen.append(self._queue.get())
        return seen


class Running:
    """A writer and an indexer over a store."""

    def __init__(self, path: Path, turn_runs: Callable[[], bool], clock: Clock) -> None:
        feed = Feed()
        self.fatal: list[BaseException] = []
        self.writer = StoreWriter(path, clock, feed, self.fatal.append)
        self.steps = Steps()
        self.indexer = Indexer(
            path, self.writer, feed, clock, turn_runs, self.fatal.append, self.steps
        )

    def say(self, conversation: str, *texts: str) -> None:
        """Answers, each in a batch of its own."""
        for text in texts:
            event = ev.AssistantMessageCompleted(turn_id=an_id(99), index=0, text=text)
            self.writer.append(Batch((NewEvent(conversation, event),))).result(LIMIT_S)


@contextmanager
def running(
    path: Path, turn_runs: Callable[[], bool] = lambda: False, clock: Clock | None = None
) -> Iterator[Running]:
    run = Running(path, turn_runs, clock or SystemClock())
    run.writer.start()
    run.indexer.start()
    try:
        yield run
    finally:
        run.indexer.stop()
        run.writer.stop()
    assert run.fatal == []


def filled(store: Store, texts: int) -> str:
    one = store.conversation("start")
    for number in range(texts):
        store.answer(one, f"answer {number}")
    return one


def test_a_start_reads_the_whole_log(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        filled(store, 70)
        with running(store.path) as run:
            assert run.indexer.wait_until_built(LIMIT_S)
            assert not run.indexer.building
        assert len(store.docs()) == 71
        assert state(store.conn).indexed_seq == high_water(store.conn)
        check(store.conn)


def test_news_are_indexed_when_they_are_committed(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = filled(store, 1)
        with running(store.path) as run:
            run.steps.wait_for("page committed")
            run.say(one, "a late needle")
            run.steps.wait_for("page committed")
            assert store.ids("needle") == [one]


def test_events_without_a_text_wake_nobody(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = filled(store, 1)
        with running(store.path) as run:
            assert run.indexer.wait_until_built(LIMIT_S)
            run.steps.so_far()
            event = ev.AssistantMessageUpdated(turn_id=an_id(99), index=0, offset=0, delta="x")
            run.writer.append(Batch((NewEvent(one, event),))).result(LIMIT_S)
            run.say(one, "needle")
            assert run.steps.wait_for("page committed") == ["page written", "page committed"]


def test_more_than_one_page_ends_with_merges_until_there_is_no_work(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        filled(store, 400)
        with running(store.path) as run:
            seen = run.steps.wait_for("merged")
            assert seen.count("page committed") == 13
            assert seen[-2] == "page committed"
            run.indexer.wait_until_built(LIMIT_S)
        store.merge()
        check(store.conn)


def test_one_page_merges_nothing(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = filled(store, 2)
        with running(store.path) as run:
            run.steps.wait_for("page committed")
            run.say(one, "again")
            assert run.steps.wait_for("page committed") == ["page written", "page committed"]


def test_pauses_leave_the_writer_four_fifths() -> None:
    assert pause_s(0.005, False) == 0.02
    assert pause_s(0.001, False) == 0.01
    assert pause_s(0.005, True) == 1.0
    assert pause_s(0.5, True) == 2.0


def test_while_a_turn_runs_there_is_one_small_page_a_second(tmp_path: Path) -> None:
    """The stop does not wait for the pause."""
    with a_store(tmp_path) as store:
        filled(store, 30)
        with running(store.path, turn_runs=lambda: True) as run:
            run.steps.wait_for("page committed")
        assert len(store.docs()) == 8
        assert run.steps.so_far() == []


class SlowJobs(SystemClock):
    """A clock on which each job takes minutes, and the pause behind it hours."""

    def monotonic(self) -> float:
        return super().monotonic() * 1_000_000


def test_the_next_page_is_read_within_the_pause(tmp_path: Path) -> None:
    """The indexer asks whether a turn runs for its page, for the pause, and for the page read
    meanwhile; the pause itself ends with the stop alone."""
    asked = threading.Semaphore(0)

    def turn_runs() -> bool:
        asked.release()
        return False

    with a_store(tmp_path) as store:
        filled(store, 70)
        with running(store.path, turn_runs, SlowJobs()):
            assert all(asked.acquire(timeout=LIMIT_S) for _ in range(3))
        assert len(store.docs()) == 32


class FullWriter:
    """A writer whose disk is full."""

    def __init__(self, error: Exception) -> None:
        self.asked = threading.Event()
        self._error = error

    def run(self, job: object, around: object = None) -> Reply[object]:
        self.asked.set()
        reply: Reply[object] = Reply()
        reply.set_exception(self._error)
        return reply


def fatal(exc: BaseException) -> None:
    pytest.fail(str(exc))


def test_a_full_disk_costs_a_line_and_is_tried_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with a_store(tmp_path) as store, caplog.at_level(logging.WARNING):
        filled(store, 1)
        writer = FullWriter(StoreFull(store.path, "no room"))
        indexer = Indexer(store.path, writer, Feed(), SystemClock(), lambda: False, fatal)  # type: ignore[arg-type]
        indexer.start()
        assert writer.asked.wait(LIMIT_S)
        indexer.stop()  # it does not sleep the minute out
        assert [record.message for record in caplog.records if "no room" in record.message]
        assert indexer.building


def test_a_writer_that_stopped_ends_it_quietly(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        filled(store, 1)
        writer = FullWriter(StoreClosed("stopped"))
        indexer = Indexer(store.path, writer, Feed(), SystemClock(), lambda: False, fatal)  # type: ignore[arg-type]
        indexer.start()
        assert writer.asked.wait(LIMIT_S)
        indexer.stop()


def test_an_exception_of_ours_takes_the_daemon_down(tmp_path: Path) -> None:
    told: queue.SimpleQueue[BaseException] = queue.SimpleQueue()
    with a_store(tmp_path) as store:
        filled(store, 1)
        writer = FullWriter(ZeroDivisionError())
        indexer = Indexer(store.path, writer, Feed(), SystemClock(), lambda: False, told.put)  # type: ignore[arg-type]
        indexer.start()
        assert isinstance(told.get(timeout=LIMIT_S), ZeroDivisionError)
        indexer.stop()


# Kills.


@pytest.mark.parametrize(
    ("step", "count"),
    [("page written", 1), ("page written", 4), ("page committed", 3), ("merged", 1)],
)
def test_a_kill_leaves_cursor_and_documents_in_agreement(
    tmp_path: Path, step: str, count: int
) -> None:
    path = new_database(tmp_path)
    with opened(path) as conn:
        prepare(conn)
        store = Store(path, conn)
        filled(store, 200)
    command = [sys.executable, "-m", "tests.search.kill_child", str(path), step, str(count)]
    done = subprocess.run(command, cwd=ROOT, timeout=50)
    assert done.returncode == -signal.SIGKILL
    with opened(path) as conn:
        store = Store(path, conn)
        check(conn)
        cursor = state(conn).indexed_seq
        assert all(seq <= cursor for seq, _, _ in store.docs())
        store.index()
        assert [text for _, _, text in store.docs()] == [
            "start",
            *(f"answer {number}" for number in range(200)),
        ]
        check(conn)
