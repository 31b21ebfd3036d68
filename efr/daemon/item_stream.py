"""A stream of a few items that some other thread produces: a login, a pairing.

The thread that produces calls `say` and `end`; the transport's thread pulls. `close` cancels the
work behind it. Nothing waits: the items of such a stream are a handful by its nature.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Lock

from efr.base.cancel import Cancel
from efr.threads.requests import Finished
from efr.wire.errors import ErrorBody


class ItemStream:
    """What is ready and not sent yet. `cancel` is set when the client is gone."""

    def __init__(self) -> None:
        self.cancel = Cancel()
        self._lock = Lock()  # guards the two below
        self._ready: deque[bytes | Finished] = deque()
        self._wake: Callable[[], None] | None = None

    def say(self, item: bytes) -> None:
        """Adds an encoded item. Any thread."""
        self._add(item)

    def end(self, error: ErrorBody | None = None) -> None:
        """Says that nothing follows. Any thread, once."""
        self._add(Finished(error))

    def set_ready(self, wake: Callable[[], None]) -> None:
        """Takes what to call when there is something to pull."""
        with self._lock:
            self._wake = wake
            has_some = bool(self._ready)
        if has_some:
            wake()

    def next_item(self) -> bytes | Finished | None:
        """The next item, the end, or None for now."""
        with self._lock:
            return self._ready.popleft() if self._ready else None

    def close(self) -> None:
        """The client is gone, or has everything."""
        self.cancel.cancel()

    def _add(self, what: bytes | Finished) -> None:
        with self._lock:
            self._ready.append(what)
            wake = self._wake
        if wake is not None:
            wake()
