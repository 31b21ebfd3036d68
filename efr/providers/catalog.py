"""One provider's list of models in memory, its cache file, and when to fetch it again.

fetch_now blocks its caller and may run on several threads at once; everything else is quick. The
loop that calls it belongs to efr.threads. A new list applies from the next read on; a fetch that
fails, or that offers nothing, leaves the present list as it is.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.base.files import make_private_dir, write_atomic
from efr.base.version import VERSION
from efr.providers.canonical import ModelFacts
from efr.providers.errors import DecodeFailed, NotLoggedIn, ProviderError
from efr.wire import codec
from efr.wire.errors import BadValue

log = logging.getLogger("efr.providers.catalog")

FETCH_EVERY_S: Final = 3600.0
RETRY_AFTER_S: Final = (15.0, 30.0, 60.0, 120.0, 300.0)  # by failures in a row; the last repeats
_CACHE_FORMAT: Final = 1

Origin = Literal["backend", "cache", "builtin", "missing"]


class Fetched(Struct, frozen=True):
    """A whole list; tag lets the server say "the same" next time."""

    entries: tuple[ModelFacts, ...]
    tag: str | None = None


Fetch = Callable[[Cancel, str | None], Fetched | None]
"""Fetches with the tag of the present list; None: nothing changed. Raises ProviderError."""


class _CacheFile(Struct, frozen=True, omit_defaults=True):
    format: int
    base_url: str
    client_version: str
    fetched_at_us: int
    entries: tuple[ModelFacts, ...]
    tag: str | None = None


class CatalogState(Struct, frozen=True):
    """What the list is right now."""

    entries: tuple[ModelFacts, ...]
    origin: Origin
    fetched_at_us: int | None
    tag: str | None = None


class Catalog:
    """The list of one backend."""

    def __init__(
        self,
        base_url: str,
        cache_file: Path,
        builtin: Sequence[ModelFacts],
        fetch: Fetch,
        clock: Clock,
    ) -> None:
        self._base_url = base_url
        self._cache_file = cache_file
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._due = clock.monotonic()
        self._failure: ProviderError | None = None
        self._state = self._cached() or CatalogState(
            tuple(builtin), "builtin" if builtin else "missing", None
        )

    @property
    def state(self) -> CatalogState:
        with self._lock:
            return self._state

    @property
    def last_failure(self) -> ProviderError | None:
        """Why the newest fetch brought nothing; None after one that worked."""
        with self._lock:
            return self._failure

    def fetch_now(self, cancel: Cancel) -> None:
        """Fetches once and keeps what came. Raises ProviderError, Cancelled; blocks."""
        try:
            fetched = self._fetch(cancel, self.state.tag)
            if fetched is not None and not fetched.entries:
                raise DecodeFailed("the list offers no model that this version can use")
        except ProviderError as exc:
            self._note_failure(exc)
            raise
        self._note_success(fetched)

    def when_next_s(self) -> float:
        """Seconds until the next fetch is due; 0 when it is."""
        with self._lock:
            return max(self._due - self._clock.monotonic(), 0.0)

    def hurry(self) -> None:
        """Makes the next fetch due now, such as after a login."""
        with self._lock:
            self._due = self._clock.monotonic()
            self._failures = 0

    def _note_failure(self, failure: ProviderError) -> None:
        now = self._clock.monotonic()
        with self._lock:
            self._failure = failure
            if isinstance(failure, NotLoggedIn):  # nothing is wrong: a login will hurry us
                self._due = now + FETCH_EVERY_S
                return
            self._due = now + RETRY_AFTER_S[min(self._failures, len(RETRY_AFTER_S) - 1)]
            self._failures += 1

    def _note_success(self, fetched: Fetched | None) -> None:
        now, now_us = self._clock.monotonic(), self._clock.now_us()
        with self._lock:
            entries = self._state.entries if fetched is None else fetched.entries
            tag = self._state.tag if fetched is None else fetched.tag
            state = self._state = CatalogState(entries, "backend", now_us, tag)
            self._failure = None
            self._failures = 0
            self._due = now + FETCH_EVERY_S
        self._store(state, now_us)

    def _store(self, state: CatalogState, now_us: int) -> None:
        record = _CacheFile(
            _CACHE_FORMAT, self._base_url, VERSION, now_us, state.entries, state.tag
        )
        try:
            make_private_dir(self._cache_file.parent)
            write_atomic(self._cache_file, codec.encode(record), 0o600)
        except OSError as exc:
            log.warning("the model list could not be cached: %s", exc.strerror)

    def _cached(self) -> CatalogState | None:
        try:
            record = codec.decode(self._cache_file.read_bytes(), _CacheFile)
        except (OSError, BadValue):
            return None
        ours = (_CACHE_FORMAT, self._base_url, VERSION)
        if (record.format, record.base_url, record.client_version) != ours or not record.entries:
            return None
        return CatalogState(record.entries, "cache", record.fetched_at_us, record.tag)
