from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Iterator

import pytest

from efr.base.clock import SystemClock
from efr.threads.timer import Timer
from tests.harness.clock import FakeClock

LIMIT_S = 20.0


@pytest.fixture
def timer() -> Iterator[Timer]:
    timer = Timer(SystemClock())
    timer.start()
    yield timer
    timer.stop()


def test_entries_run_in_the_order_of_their_due_times(timer: Timer) -> None:
    ran: queue.Queue[int] = queue.Queue()
    now = SystemClock().monotonic()
    timer.at(now + 0.03, lambda: ran.put(3))
    timer.at(now + 0.01, lambda: ran.put(1))
    timer.at(now + 0.02, lambda: ran.put(2))
    timer.at(now - 1, lambda: ran.put(0))
    assert [ran.get(timeout=LIMIT_S) for _ in range(4)] == [0, 1, 2, 3]


def test_a_cancelled_entry_never_runs(timer: Timer) -> None:
    ran: queue.Queue[str] = queue.Queue()
    now = SystemClock().monotonic()
    entry = timer.at(now + 0.02, lambda: ran.put("cancelled"))
    entry.cancel()
    entry.cancel()
    timer.at(now + 0.03, lambda: ran.put("kept"))
    assert ran.get(timeout=LIMIT_S) == "kept"
    assert ran.empty()


def test_an_earlier_entry_does_not_wait_for_a_later_one(timer: Timer) -> None:
    ran = threading.Event()
    now = SystemClock().monotonic()
    timer.at(now + 3600, lambda: None)
    timer.at(now, ran.set)
    assert ran.wait(LIMIT_S)


def test_a_callback_that_raises_is_logged_and_the_next_one_runs(
    timer: Timer, caplog: pytest.LogCaptureFixture
) -> None:
    ran = threading.Event()
    now = SystemClock().monotonic()
    timer.at(now, lambda: 1 / 0)  # type: ignore[arg-type]
    timer.at(now, ran.set)
    assert ran.wait(LIMIT_S)
    assert [record.message for record in caplog.records] == ["a timer callback failed"]


def test_a_callback_may_add_and_cancel_entries(timer: Timer) -> None:
    ran = threading.Event()
    now = SystemClock().monotonic()
    later = timer.at(now + 3600, lambda: None)

    def again() -> None:
        later.cancel()
        timer.at(now, ran.set)

    timer.at(now, again)
    assert ran.wait(LIMIT_S)


def test_what_ran_is_let_go_while_the_next_is_waited_for(timer: Timer) -> None:
    class Held:
        def run(self) -> None:
            """It holds itself."""

    held = [Held() for _ in range(3)]
    gone = [threading.Event() for _ in held]
    for one, event in zip(held, gone, strict=True):
        weakref.finalize(one, event.set)
    added = threading.Event()
    now = SystemClock().monotonic()

    def hold() -> None:
        added.wait(LIMIT_S)

    timer.at(now, hold)
    for one in held:
        timer.at(now, one.run)
    added.set()
    del one, held
    for event in gone[:-1]:  # the last that ran may be kept
        assert event.wait(LIMIT_S)


def test_stop_ends_it_at_once_and_nothing_runs_afterwards() -> None:
    timer = Timer(FakeClock())
    ran: list[str] = []
    timer.start()
    timer.at(1e9, lambda: ran.append("late"))
    timer.stop()
    timer.stop()
    assert not timer.is_alive()
    assert ran == []


def test_many_cancelled_entries_leave_nothing_behind() -> None:
    timer = Timer(FakeClock())
    kept = timer.at(5000.0, lambda: None)
    for number in range(10_000):
        timer.at(4000.0 + number, lambda: None).cancel()
    assert timer.waiting < 600
    kept.cancel()
    timer.stop()
