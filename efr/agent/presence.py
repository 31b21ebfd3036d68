"""Whether the user is there, for one conversation.

Input is a prompt, a steer, an answer or keys for the hidden shell. Ten minutes without input make
the user away; any input makes them present. Only changes are events. Every change of state
happens inside the conversation's gate, so the log tells the same story as the memory; this object
only keeps the state and the timer's entry. Facts: agent document, presence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from efr.agent.ports import TimerEntry, Timers
from efr.base.clock import Clock

AWAY_AFTER_S = 600.0  # ten minutes without input
_RETRY_S = 1.0  # somebody is inside the gate when the ten minutes are over: look again


class Presence:
    """The state of one conversation. Called inside its gate; the timer's thread calls `_due`."""

    def __init__(
        self, clock: Clock, timer: Timers, away: bool, on_timeout: Callable[[], bool]
    ) -> None:
        """`on_timeout` goes away if the gate is free, and says whether it was."""
        self._clock = clock
        self._timer = timer
        self._on_timeout = on_timeout
        self._lock = threading.Lock()  # "presence": which entry waits
        self._armed = False
        self._entry: TimerEntry | None = None
        self.away = away
        self.had_input = False  # during this run of the daemon
        self._last_input = clock.monotonic()

    def input(self) -> bool:
        """The user did something: the time starts again. True: they were away until now."""
        self.had_input = True
        self._last_input = self._clock.monotonic()
        was_away, self.away = self.away, False
        self._wait(AWAY_AFTER_S)
        return was_away

    def back_out(self) -> None:
        """The input could not be recorded: who was away is away still."""
        self.away = True

    def go_away(self) -> None:
        """Away, by the user's word or by time; the next input starts the time again."""
        self.away = True
        self._stop()

    def stop(self) -> None:
        """No timer entry is left."""
        self._stop()

    @property
    def is_timed(self) -> bool:
        """Whether it waits for the ten minutes to pass."""
        with self._lock:
            return self._armed

    def is_due(self) -> bool:
        """Whether ten minutes passed since the last input."""
        return self._left() <= 0 and not self.away

    def _left(self) -> float:
        return self._last_input + AWAY_AFTER_S - self._clock.monotonic()

    def _wait(self, seconds: float) -> None:
        """Waits in the timer, unless an entry waits already: that one will look again."""
        with self._lock:
            if self._armed:
                return
            self._armed = True
        entry = self._timer.at(self._clock.monotonic() + seconds, self._due)
        with self._lock:
            if self._armed:
                self._entry = entry

    def _due(self) -> None:
        """On the timer's thread. One entry serves many inputs: it looks how much time is left. It
        waits until it is through, so that nobody lets the conversation go meanwhile."""
        left = self._left()
        if left <= 0 and not self.away:
            left = self._left() if self._on_timeout() else _RETRY_S
        with self._lock:
            self._armed, self._entry = False, None
        if left > 0 and not self.away:
            self._wait(left)

    def _stop(self) -> None:
        with self._lock:
            self._armed = False
            entry, self._entry = self._entry, None
        if entry is not None:
            entry.cancel()
