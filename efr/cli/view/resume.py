"""When to try again after a lost connection, and when to stop trying.

Pure but for the try itself. Limits of docs/efr.md, "Reconnects": a restart of the daemon
takes seconds, a daemon that drops every connection at once shall not be asked for ever.
"""

from __future__ import annotations

from efr.base.clock import Clock
from efr.client.connection import Connection
from efr.client.errors import ConnectionLost, NoDaemon

TRIES = 60
PAUSE_S = 0.25
LOSSES = 3  # lost connections, and ends of the stream, without one event between them


class Resume:
    """The state of one session's connection."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.broken = False
        self.given_up = False
        self.next_try: float | None = None
        self._tries = 0
        self._losses = 0
        self._ends = 0

    def progressed(self) -> None:
        """An event came: the limits start anew."""
        self._losses = self._ends = 0

    def lost(self) -> bool:
        """The connection broke; False when it breaks too often."""
        self._losses += 1
        if self._losses > LOSSES:
            return False
        self.broken, self._tries = True, 0
        self.next_try = self._clock.monotonic()
        return True

    def may_subscribe_again(self) -> bool:
        """The stream ended; False when it ends too often."""
        self._ends += 1
        return self._ends <= LOSSES

    def due(self, now: float) -> bool:
        """Whether the next try is due."""
        return self.next_try is not None and now >= self.next_try

    def try_again(self, connection: Connection) -> Connection | None:
        """A new connection like `connection`, or None: not yet, or `given_up`."""
        self._tries += 1
        try:
            fresh = connection.again()
        except (NoDaemon, ConnectionLost):
            self.given_up = self._tries >= TRIES
            self.next_try = None if self.given_up else self._clock.monotonic() + PAUSE_S
            return None
        self.broken, self.next_try = False, None
        return fresh
