"""The thread `catalog-fetch`: keeps the list of the active provider's models fresh.

It owns nothing: the catalog knows when it is due, and a login wakes it. A fetch that fails costs a
line in the log and is due again later; it never ends the thread. `stop()` cuts a running fetch.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import Final, Protocol

from efr.base.cancel import Cancel, Cancelled
from efr.providers.errors import NotLoggedIn, ProviderError

log = logging.getLogger("efr.threads")

_AFTER_A_FAULT_S: Final = 300.0  # an error that no provider raises: look again, but not at once
_NEVER_LATER_THAN_S: Final = 86_400.0  # an Event cannot wait for an endless time


class Catalogs(Protocol):
    """The registry of providers, as this thread sees it."""

    def when_next_fetch_s(self) -> float:
        """Seconds until the active provider's list is due."""

    def fetch_now(self, cancel: Cancel) -> None:
        """Fetches it; blocks. Raises ProviderError, Cancelled."""

    def on_fetch_wanted(self, wake: Callable[[], None]) -> None:
        """Who to wake when a login makes a fetch due."""


class CatalogFetcher(Thread):
    """Fetches when it is time."""

    def __init__(self, catalogs: Catalogs) -> None:
        super().__init__(name="catalog-fetch")
        self._catalogs = catalogs
        self._wake = Event()
        self._cancel = Cancel()
        catalogs.on_fetch_wanted(self._wake.set)

    def run(self) -> None:
        while not self._cancel.cancelled:
            self._wake.clear()
            wait_s = self._catalogs.when_next_fetch_s()
            if wait_s <= 0:
                wait_s = self._fetch()
            if not self._cancel.cancelled:
                self._wake.wait(min(wait_s, _NEVER_LATER_THAN_S))

    def stop(self, deadline: float) -> None:
        """Ends the thread; a running fetch is cut. May be called twice."""
        self._cancel.cancel()
        self._wake.set()
        if self.is_alive():
            self.join()

    def _fetch(self) -> float:
        """Fetches once; returns how long to wait before the next look."""
        try:
            self._catalogs.fetch_now(self._cancel)
        except Cancelled:
            return 0.0
        except NotLoggedIn:
            log.debug("no model list: nobody is logged in")
        except ProviderError as exc:
            log.warning("the model list could not be fetched: %s", type(exc).__name__)
        except Exception:
            log.exception("fetching the model list broke")
            return _AFTER_A_FAULT_S
        return 0.0 if self._cancel.cancelled else self._catalogs.when_next_fetch_s()
