"""Drafts: the running turn for those who look at it now. Never stored.

The turn tells its `Channel` what comes from the model; listeners get drafts at once and then at
most one batch per `conversation.draft_interval_ms` (a timer brings the rest). With no listener a
turn only appends to its own text. Merging for a slow reader is the subscription's work.

Listeners are called outside the lock, by one thread at a time per channel, in order; they must
not block (fill a queue, wake the server). The lock "drafts" guards the state of one channel.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from efr.agent.live import LiveTurn, Sent
from efr.agent.ports import TimerEntry, Timers
from efr.base.clock import Clock
from efr.wire import types as t

log = logging.getLogger("efr.agent")

Listener = Callable[[t.Draft], None]


class Channel:
    """One conversation's drafts: the turn writes, listeners are called."""

    def __init__(self, clock: Clock, timer: Timers, interval_s: Callable[[], float]) -> None:
        self._clock = clock
        self._timer = timer
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._turn: LiveTurn | None = None
        self._listeners: dict[object, tuple[Listener, Sent]] = {}
        self._delivering = False
        self._again = False
        self._next_at = 0.0
        self._entry: TimerEntry | None = None

    @property
    def unused(self) -> bool:
        """Nobody listens and no turn runs."""
        with self._lock:
            return self._turn is None and not self._listeners

    def add(self, fn: Listener, seen: t.Live | None) -> Callable[[], None]:
        """Registers a listener (`deliver` then brings it up to now). Returns the way out."""
        key = object()
        with self._lock:
            turn = self._turn
            place = turn.sent_of(seen) if turn is not None and seen is not None else Sent()
            self._listeners[key] = (fn, place)
        return lambda: self._leave(key)

    def live(self) -> t.Live | None:
        """The snapshot of a running model call."""
        with self._lock:
            return self._turn.snapshot() if self._turn is not None else None

    def begin(self, turn_id: str, after_seq: int) -> None:
        """A turn starts: what was known of an earlier one is gone."""
        with self._lock:
            self._turn = LiveTurn(turn_id, after_seq)
            self._listeners = {key: (fn, Sent()) for key, (fn, _) in self._listeners.items()}
            self._next_at = 0.0

    def end(self) -> None:
        """The turn ended; drafts that still wait for their time go with it."""
        with self._lock:
            self._turn = None
            entry, self._entry = self._entry, None
        if entry is not None:
            entry.cancel()

    def recorded(self, seq: int) -> None:
        """The turn recorded an event; later drafts come after it."""
        with self._lock:
            if self._turn is not None:
                self._turn.after_seq = max(seq, self._turn.after_seq)

    def begin_answer(self, index: int) -> None:
        """A model call starts; its text, if it has any, will be message `index`."""
        with self._lock:
            if self._turn is not None:
                self._turn.begin_answer(index)

    def end_answer(self) -> None:
        """The answer is whole; text that was not sent yet is in the log."""
        with self._lock:
            if self._turn is not None:
                self._turn.end_answer()

    def text(self, delta: str) -> None:
        self._change(lambda turn: turn.add_text(delta))

    def reasoning(self, delta: str) -> None:
        self._change(lambda turn: turn.add_reasoning(delta))

    def tool_input(self, position: int, tool: str, size_bytes: int) -> None:
        self._change(lambda turn: turn.set_input(position, tool, size_bytes))

    def context(self, use: t.ContextUse) -> None:
        """How full the context is: told at once, before and after each call."""

        def change(turn: LiveTurn) -> None:
            turn.context = use

        self._change(change, at_once=True)

    def compacting(self, trigger: t.CompactionTrigger) -> None:
        """A compaction starts: told at once."""
        self._change(lambda turn: turn.begin_compaction(trigger), at_once=True)

    def compacted(self) -> None:
        """It ended, whatever it gave."""
        with self._lock:
            if self._turn is not None:
                self._turn.end_compaction()

    def _change(self, change: Callable[[LiveTurn], None], *, at_once: bool = False) -> None:
        with self._lock:
            if self._turn is None:
                return
            change(self._turn)
            if not self._listeners:
                return
            now = self._clock.monotonic()
            due_at = 0.0 if at_once else self._next_at
            wait = due_at > now
            if wait and self._entry is not None:
                return
        if wait:
            self._schedule(due_at)
        else:
            self.deliver()

    def _schedule(self, due_at: float) -> None:
        entry = self._timer.at(due_at, self._timer_fired)
        with self._lock:
            keep = self._turn is not None and self._entry is None
            if keep:
                self._entry = entry
        if not keep:
            entry.cancel()

    def _timer_fired(self) -> None:
        with self._lock:
            self._entry = None
        self.deliver()

    def deliver(self) -> None:
        """Hands out what is new. A second caller leaves it to the first, which looks again."""
        with self._lock:
            self._again = True
            if self._delivering:
                return
            self._delivering = True
        while (batches := self._take()) is not None:
            for key, fn, drafts in batches:
                self._hand(key, fn, drafts)

    def _take(self) -> list[tuple[object, Listener, list[t.Draft]]] | None:
        """What each listener lacks; None (and the delivering is over) when nobody asked again."""
        with self._lock:
            if not self._again:
                self._delivering = False
                return None
            self._again = False
            if self._turn is None:
                return []
            found = [
                (key, fn, self._turn.take(sent)) for key, (fn, sent) in self._listeners.items()
            ]
            batches = [one for one in found if one[2]]
            if batches:
                self._next_at = self._clock.monotonic() + self._interval_s()
            return batches

    def _hand(self, key: object, fn: Listener, drafts: list[t.Draft]) -> None:
        try:
            for draft in drafts:
                fn(draft)
        except Exception:
            log.exception("a listener of drafts failed and is dropped")
            self._leave(key)

    def _leave(self, key: object) -> None:
        with self._lock:
            self._listeners.pop(key, None)


class DraftHub:
    """The channels of all conversations; one exists while a turn runs or somebody listens."""

    def __init__(self, clock: Clock, timer: Timers, interval_s: Callable[[], float]) -> None:
        self._clock = clock
        self._timer = timer
        self._interval_s = interval_s
        self._lock = threading.Lock()  # "draft-hub"
        self._channels: dict[str, Channel] = {}

    def listen(
        self, conversation_id: str, fn: Listener, seen: t.Live | None = None
    ) -> Callable[[], None]:
        """Calls `fn` with every draft until the returned function is called.

        `seen` is the `live` of the snapshot that this reader starts from: its drafts go on there.
        Without it (a resume) they start at offset 0. A draft may still come just after leaving.
        """
        with self._lock:
            self._sweep()
            channel = self._channel(conversation_id)
            leave = channel.add(fn, seen)
        channel.deliver()
        return leave

    def live(self, conversation_id: str) -> t.Live | None:
        """The running model call's text so far; None when none runs."""
        with self._lock:
            channel = self._channels.get(conversation_id)
        return channel.live() if channel is not None else None

    def begin(self, conversation_id: str, turn_id: str, after_seq: int) -> Channel:
        """The channel of a turn that starts; the turn ends it with `Channel.end`."""
        with self._lock:
            self._sweep()
            channel = self._channel(conversation_id)
            channel.begin(turn_id, after_seq)
            return channel

    def _channel(self, conversation_id: str) -> Channel:
        channel = self._channels.get(conversation_id)
        if channel is None:
            channel = Channel(self._clock, self._timer, self._interval_s)
            self._channels[conversation_id] = channel
        return channel

    def _sweep(self) -> None:
        """Drops channels that nobody uses. Called with the lock, before one is looked up."""
        for conversation_id in [key for key, one in self._channels.items() if one.unused]:
            del self._channels[conversation_id]
