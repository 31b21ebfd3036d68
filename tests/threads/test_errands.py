"""Threads of one errand each."""

from __future__ import annotations

import queue
import threading

import pytest

from efr.base.clock import SystemClock
from efr.threads.errands import Errands

LIMIT_S = 20.0


def held(errands: Errands, go: threading.Event, names: queue.Queue[str]) -> bool:
    def work() -> None:
        names.put(threading.current_thread().name)
        assert go.wait(LIMIT_S)

    return errands.run(work)


def deadline() -> float:
    return SystemClock().monotonic() + LIMIT_S


def test_each_errand_has_a_thread_of_its_own_and_one_too_many_is_refused() -> None:
    errands, go, names = Errands(SystemClock(), limit=2), threading.Event(), queue.Queue[str]()
    assert [held(errands, go, names) for _ in range(3)] == [True, True, False]
    assert {names.get(timeout=LIMIT_S) for _ in range(2)} == {"errand-1", "errand-2"}
    go.set()
    assert errands.stop(deadline()) == []
    assert not [one for one in threading.enumerate() if one.name.startswith("errand")]


def test_a_number_is_free_again_after_an_errand_that_raised(
    caplog: pytest.LogCaptureFixture,
) -> None:
    errands, done = Errands(SystemClock(), limit=1), threading.Event()
    ended: queue.Queue[threading.Thread] = queue.Queue()

    def work() -> None:
        ended.put(threading.current_thread())
        raise RuntimeError("broken")

    assert errands.run(work)
    ended.get(timeout=LIMIT_S).join(LIMIT_S)
    assert "an errand broke" in caplog.text
    assert errands.run(done.set)
    assert done.wait(LIMIT_S)
    assert errands.stop(deadline()) == []


def test_a_stop_names_what_misses_its_deadline_and_lets_nothing_more_begin() -> None:
    errands, go, names = Errands(SystemClock()), threading.Event(), queue.Queue[str]()
    assert held(errands, go, names)
    names.get(timeout=LIMIT_S)
    assert errands.stop(SystemClock().monotonic()) == ["errand-1"]
    assert not errands.run(go.set)
    go.set()
    assert errands.stop(deadline()) == []
