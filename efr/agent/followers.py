"""Who follows which conversation: open subscriptions, prompts' connections and leases.

Kept in memory, as long as a connection lives. It answers three questions: can a person answer a
command that waits, does a terminal hold a conversation, and may a terminal still show an event by
itself (then it needs no notice). `docs/architecture.md` names who calls: the daemon joins for
each subscription and reports leases, the agent asks.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from msgspec import Struct, field

from efr.base.clock import Clock

LEASE_S = 60.0  # a client reports about every 25 s; two lost reports end its lease
_HANDED = 4096  # (conversation, terminal) pairs remembered; the oldest go, a notice too much


class Following(Struct, eq=False):
    """One open subscription. Call it (or `leave`) when the stream ends, for any reason."""

    followers: Followers
    conversation_id: str
    answers_input: bool
    tty: str | None

    def handed(self, seq: int) -> None:
        """The subscription was given the event with this number; the numbers only grow."""
        self.followers.handed(self, seq)

    def leave(self) -> None:
        """Any number of times."""
        self.followers.leave(self)

    __call__ = leave


class _Lease(Struct, frozen=True):
    tty: str | None
    conversations: frozenset[str]
    ptys: frozenset[str]
    ends: float


class _State(Struct):
    following: set[Following] = field(default_factory=set)
    prompted: dict[int, set[tuple[str, str]]] = field(default_factory=dict)  # connection -> pairs
    leases: dict[int, _Lease] = field(default_factory=dict)  # by connection
    handed: dict[tuple[str, str], int] = field(default_factory=dict)  # (conversation, tty) -> seq


class Followers:
    """Guarded by one lock; any thread may call. `on_left` hears of a viewer that ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()  # "followers"
        self._state = _State()
        self._on_left: Callable[[str], None] = lambda _conversation_id: None

    def tell_left(self, on_left: Callable[[str], None]) -> None:
        """Calls `on_left(conversation_id)` after a viewer ended, outside the lock."""
        self._on_left = on_left

    def join(self, conversation_id: str, answers_input: bool, tty: str | None) -> Following:
        """A subscription opened. `answers_input` counts a person who can type an answer."""
        following = Following(self, conversation_id, answers_input, tty)
        with self._lock:
            self._state.following.add(following)
        return following

    def leave(self, following: Following) -> None:
        """The subscription ended (`Following.leave` is the way in)."""
        with self._lock:
            if following not in self._state.following:
                return
            self._state.following.discard(following)
        self._on_left(following.conversation_id)

    def handed(self, following: Following, seq: int) -> None:
        """Keeps the highest number that a subscription of that terminal was given."""
        if following.tty is None:
            return
        key = (following.conversation_id, following.tty)
        with self._lock:
            newest = max(seq, self._state.handed.pop(key, 0))
            self._state.handed[key] = newest  # last in the order: the dict drops its first
            if len(self._state.handed) > _HANDED:
                del self._state.handed[next(iter(self._state.handed))]

    def prompted(self, connection_id: int, conversation_id: str, tty: str | None) -> None:
        """A connection sends a prompt: it may still follow the answer."""
        if tty is None:
            return
        with self._lock:
            self._state.prompted.setdefault(connection_id, set()).add((conversation_id, tty))

    def report_lease(
        self,
        connection_id: int,
        tty: str | None,
        conversations: Iterable[str],
        ptys: Iterable[str] = (),
    ) -> int:
        """A terminal says what it shows. Replaces its earlier report; returns the seconds."""
        ends = self._clock.monotonic() + LEASE_S
        lease = _Lease(tty, frozenset(conversations), frozenset(ptys), ends)
        with self._lock:
            self._state.leases[connection_id] = lease
        return int(LEASE_S)

    def connection_closed(self, connection_id: int) -> None:
        """The connection is gone: its prompts and its lease count no more."""
        with self._lock:
            self._state.leases.pop(connection_id, None)
            pairs = self._state.prompted.pop(connection_id, set())
        for conversation_id in {pair[0] for pair in pairs}:
            self._on_left(conversation_id)

    def can_answer(self, conversation_id: str) -> bool:
        """Whether a person who can type an answer follows the conversation now."""
        with self._lock:
            return any(
                one.answers_input and one.conversation_id == conversation_id
                for one in self._state.following
            )

    def follows(self, conversation_id: str, tty: str) -> bool:
        """Whether that terminal follows it: an open subscription or a live lease."""
        with self._lock:
            return self._subscribed(conversation_id, tty) or self._leased(conversation_id, tty)

    def may_still_show(self, conversation_id: str, tty: str) -> bool:
        """Whether an open connection of that terminal can still show a new event."""
        with self._lock:
            return self._subscribed(conversation_id, tty) or any(
                (conversation_id, tty) in pairs for pairs in self._state.prompted.values()
            )

    def was_shown(self, conversation_id: str, tty: str, seq: int) -> bool:
        """Whether the terminal was handed the event, or a live lease says that it looks."""
        with self._lock:
            handed = self._state.handed.get((conversation_id, tty), 0)
            return handed >= seq or self._leased(conversation_id, tty)

    def leased_ptys(self) -> frozenset[str]:
        """Every PTY that a live lease names; an idle shell among them is not closed."""
        now = self._clock.monotonic()
        with self._lock:
            live = [lease.ptys for lease in self._state.leases.values() if lease.ends > now]
        return frozenset().union(*live)

    def _subscribed(self, conversation_id: str, tty: str) -> bool:
        return any(
            one.conversation_id == conversation_id and one.tty == tty
            for one in self._state.following
        )

    def _leased(self, conversation_id: str, tty: str) -> bool:
        now = self._clock.monotonic()
        return any(
            lease.tty == tty and conversation_id in lease.conversations and lease.ends > now
            for lease in self._state.leases.values()
        )
