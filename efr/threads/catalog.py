"""The thread `catalog-fetch`: keeps the list of the active provider's models fresh.

The catalog knows when it is due, and a login wakes it. Whoever needs a list that is not there yet
asks to be called after a fetch: one fetch serves all of them, in the order in which they asked,
on this thread. A fetch that fails costs a line in the log and is due again later; it never ends
the thread. `stop()` cuts a running fetch and calls those who still wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Lock, Thread
from typing import Final, Protocol

from efr.base.cancel import Cancel, Cancelled
from efr.providers.errors import NotLoggedIn, ProviderError

log = logging.getLogger("efr.threads")

_AFTER_A_FAULT_S: Final = 300.0  # an error that no provider raises: look again, but not at once
_NEVER_LATER_THAN_S: Final = 86_400.0  # an Event cannot wait for an endless time

AfterFetch = Callable[[Exception | None], None]
"""Takes why the fetch brought nothing: a ProviderError, Cancelled, or a fault of ours."""


class Catalogs(Protocol):
    """The registry of providers, as this thread sees it."""

    def when_next_fetch_s(self) -> float:
        """Seconds until the active provider's list is due."""

    def fetch_now(self, cancel: Cancel) -> None:
        """Fetches it; blocks. Raises ProviderError, Cancelled."""

    def on_fetch_wanted(self, wake: Callable[[], None]) -> None:
        """Who to wake when a login makes a fetch due."""


class CatalogFetcher(Thread):
    """Fetches when it is time, and when somebody waits for a list."""

    def __init__(self, catalogs: Catalogs) -> None:
        super().__init__(name="catalog-fetch")
        self._catalogs = catalogs
        self._wake = Event()
        self._cancel = Cancel()
        self._lock = Lock()  # "catalog waits"
        # Bounded by what waits: requests in flight, at most 32 of each of 64 connections.
        self._waiting: dict[int, AfterFetch] = {}
        self._asked = 0
        catalogs.on_fetch_wanted(self._wake.set)

    def after_fetch(self, fn: AfterFetch) -> Callable[[], None]:
        """Fetches now and calls `fn` after that; returns what takes the wish back. Any thread.

        A fetch that runs already serves too, unless it fails: then one more is made.
        """
        with self._lock:
            key = self._asked
            self._asked += 1
            self._waiting[key] = fn
        self._wake.set()
        if self._cancel.cancelled:
            self._call(self._asked, Cancelled())
        return lambda: self._forget(key)

    def run(self) -> None:
        while not self._cancel.cancelled:
            self._wake.clear()
            with self._lock:
                asked, wanted = self._asked, bool(self._waiting)
            wait_s = self._catalogs.when_next_fetch_s()
            if wanted or wait_s <= 0:
                wait_s = self._fetch(asked)
            if not self._cancel.cancelled:
                self._wake.wait(min(wait_s, _NEVER_LATER_THAN_S))

    def stop(self, deadline: float) -> None:
        """Ends the thread; a running fetch is cut. May be called twice."""
        self._cancel.cancel()
        self._wake.set()
        if self.is_alive():
            self.join()
        self._call(self._asked, Cancelled())

    def _fetch(self, asked: int) -> float:
        """Fetches once, serves who waits; returns how long to wait before the next look."""
        wait_s: float | None = None
        failure: Exception | None = None
        try:
            self._catalogs.fetch_now(self._cancel)
        except Cancelled as exc:
            failure = exc
        except NotLoggedIn as exc:
            log.debug("no model list: nobody is logged in")
            failure = exc
        except ProviderError as exc:
            log.warning("the model list could not be fetched: %s", type(exc).__name__)
            failure = exc
        except Exception as exc:
            log.exception("fetching the model list broke")
            failure, wait_s = exc, _AFTER_A_FAULT_S
        self._call(asked if failure is not None else None, failure)
        if self._cancel.cancelled:
            return 0.0
        return self._catalogs.when_next_fetch_s() if wait_s is None else wait_s

    def _call(self, asked: int | None, failure: Exception | None) -> None:
        """Calls those of the first `asked` that still wait; None: everybody, newcomers too."""
        while True:
            with self._lock:
                key = next(iter(self._waiting), None)
                if key is None or (asked is not None and key >= asked):
                    return
                fn = self._waiting.pop(key)
            try:
                fn(failure)
            except Exception:
                log.exception("what waited for a model list broke")

    def _forget(self, key: int) -> None:
        with self._lock:
            self._waiting.pop(key, None)
