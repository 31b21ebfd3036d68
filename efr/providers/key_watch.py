"""What providers said about the stored keys since the daemon started (docs: refused keys).

In memory, one lock, any thread. Login and logout start a new generation; an answer that belongs
to an older one changes nothing, so a late 401 never speaks of a key that was just replaced.
"""

from __future__ import annotations

import threading

from msgspec import Struct

from efr.base.clock import Clock


class KeyNews(Struct, frozen=True):
    """When a key was refused, and when it was last answered at all; microseconds, None: never."""

    refused_at_us: int | None = None
    checked_at_us: int | None = None


class _State(Struct):
    generation: int = 0
    checked_at_us: int | None = None
    call_answered: bool = False
    call_refused_at_us: int | None = None
    list_refused_at_us: int | None = None


class KeyWatch:
    """The news of one provider's key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._state = _State()

    def begin(self) -> int:
        """The generation that a request belongs to; taken before its key is read."""
        with self._lock:
            return self._state.generation

    def call_worked(self, generation: int) -> None:
        """A model call gave its first stream event."""
        self._note_call(generation, None)

    def call_refused(self, generation: int) -> None:
        """A model call ended in 401."""
        self._note_call(generation, self._clock.now_us())

    def list_answered(self, generation: int, refused: bool) -> None:
        """The model list was answered."""
        now = self._clock.now_us()
        with self._lock:
            if generation == self._state.generation:
                self._state.checked_at_us = now
                self._state.list_refused_at_us = now if refused else None

    def renew(self, checked: bool) -> None:
        """A login (checked or not) or a logout: what was known is about another key."""
        now = self._clock.now_us()
        with self._lock:
            generation = self._state.generation + 1
            self._state = _State(generation, checked_at_us=now if checked else None)

    def news(self) -> KeyNews:
        """The call's refusal; if the last call worked, none; before any call, the list's."""
        with self._lock:
            state = self._state
            by_call = state.call_refused_at_us
            refused = by_call if state.call_answered else state.list_refused_at_us
            return KeyNews(refused, state.checked_at_us)

    def _note_call(self, generation: int, refused_at_us: int | None) -> None:
        now = self._clock.now_us()
        with self._lock:
            if generation == self._state.generation:
                self._state.checked_at_us = now
                self._state.call_answered = True
                self._state.call_refused_at_us = refused_at_us
