"""One operation at a time for each store. Any thread.

Being inside is a name in a set and not a held lock: git runs inside, and nobody blocks on the
condition itself for longer than a few lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Gates:
    """A gate for each name."""

    def __init__(self) -> None:
        self._moved = Condition()  # "snapshot gates"
        self._inside: set[str] = set()

    @contextmanager
    def enter(self, name: str, wait_s: float | None = None) -> Iterator[bool]:
        """Waits until nobody else is inside; yields whether that came in time. Not reentrant."""
        with self._moved:
            entered = self._moved.wait_for(lambda: name not in self._inside, wait_s)
            if entered:
                self._inside.add(name)
        try:
            yield entered
        finally:
            if entered:
                with self._moved:
                    self._inside.remove(name)
                    self._moved.notify_all()
