"""The thread that keeps the model list fresh."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.providers.errors import NotLoggedIn, Overloaded
from efr.threads.catalog import CatalogFetcher

LIMIT_S = 20.0


class ScriptedCatalogs:
    """Says when a fetch is due and what it brings."""

    def __init__(self, *outcomes: BaseException | None) -> None:
        self.outcomes = list(outcomes)
        self.due_s = 0.0
        self.fetched: queue.Queue[int] = queue.Queue()
        self.wake: Callable[[], None] = lambda: None
        self.blocks = False
        self.holds = False
        self.go = threading.Event()

    def on_fetch_wanted(self, wake: Callable[[], None]) -> None:
        self.wake = wake

    def when_next_fetch_s(self) -> float:
        return self.due_s

    def fetch_now(self, cancel: Cancel) -> None:
        self.fetched.put(1)
        if self.blocks:
            cancel.wait(LIMIT_S)
            cancel.raise_if_cancelled()
        if self.holds:
            assert self.go.wait(LIMIT_S)
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if not self.outcomes:
            self.due_s = 3600.0
        if outcome is not None:
            raise outcome


def run(catalogs: ScriptedCatalogs) -> CatalogFetcher:
    fetcher = CatalogFetcher(catalogs)
    fetcher.start()
    return fetcher


def test_it_fetches_at_once_and_again_when_a_login_wants_it() -> None:
    catalogs = ScriptedCatalogs(None)
    fetcher = run(catalogs)
    catalogs.fetched.get(timeout=LIMIT_S)
    catalogs.due_s = 0.0
    catalogs.outcomes = [None]
    catalogs.wake()
    catalogs.fetched.get(timeout=LIMIT_S)
    fetcher.stop(0.0)
    fetcher.stop(0.0)
    assert not fetcher.is_alive()


def test_failures_do_not_end_it() -> None:
    catalogs = ScriptedCatalogs(Overloaded(), NotLoggedIn(), None)
    fetcher = run(catalogs)
    for _ in range(3):
        catalogs.fetched.get(timeout=LIMIT_S)
    fetcher.stop(0.0)


def test_a_fault_is_not_tried_again_at_once() -> None:
    catalogs = ScriptedCatalogs(RuntimeError("broken"), None)
    fetcher = run(catalogs)
    catalogs.fetched.get(timeout=LIMIT_S)
    catalogs.wake()
    catalogs.fetched.get(timeout=LIMIT_S)
    fetcher.stop(0.0)


def test_a_stop_cuts_a_fetch() -> None:
    catalogs = ScriptedCatalogs()
    catalogs.blocks = True
    fetcher = run(catalogs)
    catalogs.fetched.get(timeout=LIMIT_S)
    fetcher.stop(0.0)
    assert not fetcher.is_alive()


# Who waits for a list.


class Waiting:
    """Notes what it was told, and on which thread."""

    def __init__(self) -> None:
        self.told: queue.Queue[tuple[str, Exception | None]] = queue.Queue()

    def __call__(self, failure: Exception | None) -> None:
        self.told.put((threading.current_thread().name, failure))

    def get(self) -> Exception | None:
        name, failure = self.told.get(timeout=LIMIT_S)
        assert name == "catalog-fetch"
        return failure


def test_who_waits_makes_a_fetch_that_is_not_due_and_is_told() -> None:
    catalogs = ScriptedCatalogs(None)
    catalogs.due_s = 3600.0
    fetcher, waiting = run(catalogs), Waiting()
    fetcher.after_fetch(waiting)
    assert waiting.get() is None
    catalogs.outcomes = [failure := Overloaded()]
    fetcher.after_fetch(waiting)
    assert waiting.get() is failure
    fetcher.stop(0.0)
    assert catalogs.fetched.qsize() == 2


def test_one_fetch_serves_all_that_came_while_it_ran_in_their_order() -> None:
    catalogs = ScriptedCatalogs(None)
    catalogs.holds = True
    fetcher, told = run(catalogs), queue.Queue[int]()
    catalogs.fetched.get(timeout=LIMIT_S)
    for number in range(5):
        fetcher.after_fetch(lambda failure, number=number: told.put(number))  # type: ignore[misc]
    catalogs.go.set()
    assert [told.get(timeout=LIMIT_S) for _ in range(5)] == [0, 1, 2, 3, 4]
    fetcher.stop(0.0)
    assert catalogs.fetched.qsize() <= 1, "the wish that set the wake-up may cost one more look"


def test_who_came_during_a_fetch_that_fails_gets_one_of_their_own() -> None:
    catalogs = ScriptedCatalogs(NotLoggedIn(), None)
    catalogs.holds = True
    fetcher, waiting = run(catalogs), Waiting()
    catalogs.fetched.get(timeout=LIMIT_S)
    fetcher.after_fetch(waiting)  # such as after a login
    catalogs.go.set()
    assert waiting.get() is None
    fetcher.stop(0.0)


def test_a_wish_that_is_taken_back_is_not_told() -> None:
    catalogs = ScriptedCatalogs(None)
    catalogs.holds = True
    fetcher, gone, waiting = run(catalogs), Waiting(), Waiting()
    catalogs.fetched.get(timeout=LIMIT_S)
    forget = fetcher.after_fetch(gone)
    fetcher.after_fetch(waiting)
    forget()
    forget()
    catalogs.go.set()
    assert waiting.get() is None
    fetcher.stop(0.0)
    assert gone.told.empty()


def test_a_stop_tells_who_waits(caplog: pytest.LogCaptureFixture) -> None:
    catalogs = ScriptedCatalogs()
    catalogs.blocks = True
    fetcher = run(catalogs)
    catalogs.fetched.get(timeout=LIMIT_S)
    told: list[Exception | None] = []
    fetcher.after_fetch(told.append)
    fetcher.stop(0.0)
    fetcher.after_fetch(told.append)
    assert [type(failure) for failure in told] == [Cancelled, Cancelled]


def test_one_that_raises_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    def broken(failure: Exception | None) -> None:
        raise RuntimeError("broken")

    catalogs = ScriptedCatalogs(None)
    catalogs.holds = True
    fetcher, waiting = run(catalogs), Waiting()
    fetcher.after_fetch(broken)
    fetcher.after_fetch(waiting)
    catalogs.go.set()
    assert waiting.get() is None
    fetcher.stop(0.0)
    assert "what waited for a model list broke" in caplog.text
