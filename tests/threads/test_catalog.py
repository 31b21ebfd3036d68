"""The thread that keeps the model list fresh."""

from __future__ import annotations

import queue
from collections.abc import Callable

from efr.base.cancel import Cancel
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

    def on_fetch_wanted(self, wake: Callable[[], None]) -> None:
        self.wake = wake

    def when_next_fetch_s(self) -> float:
        return self.due_s

    def fetch_now(self, cancel: Cancel) -> None:
        self.fetched.put(1)
        if self.blocks:
            cancel.wait(LIMIT_S)
            cancel.raise_if_cancelled()
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
