"""A thread that does one round each time it is woken: what the collectors are.

It waits on an event and never polls; wakes that come during a round are one more round. A round
catches its own errors.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread


class Rounds:
    """`a_round` runs on the thread of that name."""

    def __init__(self, name: str, a_round: Callable[[], None]) -> None:
        self._round = a_round
        self._wanted = Event()
        self._stopping = False
        self._thread = Thread(target=self._live, name=name)

    def start(self) -> None:
        """Starts the thread with a round: a stop may have left something."""
        self._wanted.set()
        self._thread.start()

    def wake(self) -> None:
        """Asks for a round; one that runs is followed by another. Never blocks."""
        self._wanted.set()

    def stop(self) -> None:
        """Ends the thread after its round, and joins. May be called twice."""
        self._stopping = True
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()

    def _live(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._stopping:
                return
            self._round()
