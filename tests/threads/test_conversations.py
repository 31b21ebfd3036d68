from __future__ import annotations

import threading

import pytest

from efr.base.clock import SystemClock
from efr.threads.conversations import ConversationWorkers, WorkersStopped

LIMIT_S = 20.0
ID = "019a9b11-0000-7000-8000-00001234abcd"


def workers(faults: list[tuple[str, BaseException]] | None = None) -> ConversationWorkers:
    found = faults if faults is not None else []
    return ConversationWorkers(SystemClock(), lambda name, exc: found.append((name, exc)))


def test_a_thread_lives_as_long_as_its_work_and_has_the_conversations_name() -> None:
    pool = workers()
    names: list[str] = []
    release = threading.Event()
    started = threading.Event()

    def work() -> None:
        names.append(threading.current_thread().name)
        started.set()
        assert release.wait(LIMIT_S)

    pool.start(ID, work)
    assert started.wait(LIMIT_S)
    assert pool.count == 1
    release.set()
    assert pool.stop(SystemClock().monotonic() + LIMIT_S) == []
    assert names == ["conversation-1234abcd"]
    assert pool.count == 0


def test_stop_names_what_misses_the_deadline_and_takes_no_more_work() -> None:
    pool = workers()
    release = threading.Event()
    pool.start(ID, lambda: assert_set(release))
    assert pool.stop(SystemClock().monotonic()) == ["conversation-1234abcd"]
    with pytest.raises(WorkersStopped):
        pool.start(ID, lambda: None)
    release.set()
    assert pool.stop(SystemClock().monotonic() + LIMIT_S) == []


def test_work_that_raises_is_reported_with_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    faults: list[tuple[str, BaseException]] = []
    pool = workers(faults)

    def work() -> None:
        raise ValueError("a broken rule")

    pool.start(ID, work)
    pool.stop(SystemClock().monotonic() + LIMIT_S)
    assert [(name, str(exc)) for name, exc in faults] == [
        ("conversation-1234abcd", "a broken rule")
    ]
    assert "ended by an exception" in caplog.text


def assert_set(event: threading.Event) -> None:
    assert event.wait(LIMIT_S)
