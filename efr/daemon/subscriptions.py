"""`conversation.subscribe`: a start, then every commit of one conversation, and drafts.

A subscription registers for commits before it reads, so nothing falls between the read and the
live part; what the read already holds is skipped by number. It keeps at most 64 events: an offer
never waits, and one that finds the queue full ends the stream with `overflow` after what was
queued. Drafts never do that: they merge (`draft_room.py`).

Offers come from the `store-writer` and from whoever runs a turn; `next_item` and `close` from the
transport's thread. One short lock per subscription guards its state; wake-ups happen outside it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from efr.agent.drafts import DraftHub
from efr.agent.followers import Followers, Following
from efr.daemon.draft_room import DraftRoom
from efr.store.feed import Feed, Published
from efr.threads.requests import Finished
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import ErrorBody

QUEUE_SIZE = 64  # events that wait for one subscriber (docs/protocol.md)
_REREADS = 3  # a model call may record an event between the read and `live`


class EventItem(Struct, frozen=True):
    """One event, ready to be sent."""

    seq: int
    kind: str
    item: bytes


class Start(Struct, frozen=True):
    """One read of the log: a replay of `events` after `after_seq`, or a snapshot."""

    hwm: int  # the newest number of the whole log at the read
    events: tuple[EventItem, ...]
    snapshot: Callable[[t.Live | None], bytes] | None  # None: a replay


ReadStart = Callable[[m.ConversationSubscribeParams], Start]  # raises Refusal when unknown


class Subscription:
    """The stream of one request."""

    def __init__(self, conversation_id: str, *, drafts: bool) -> None:
        self.conversation_id = conversation_id
        self._lock = threading.Lock()  # "subscription"
        self._wake: Callable[[], None] = _nothing
        self._let_go: list[Callable[[], None]] = []
        self._following: Following | None = None
        self._starts: deque[EventItem] = deque()
        self._events: deque[EventItem] = deque()  # at most QUEUE_SIZE
        self._room = DraftRoom() if drafts else None
        self._hwm: int | None = None  # None: the start is not read yet
        self._sent = 0  # the newest number that the reader has, or that its start covers
        self._refused = 0  # the newest event that found the queue full
        self._over = False  # `conversation_deleted` was sent
        self._closed = False

    def set_ready(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def next_item(self) -> bytes | Finished | None:
        with self._lock:
            if self._over:
                return Finished()
            event = self._next_event()
            overflow = event is None and self._refused > 0
            draft = None
            if event is None and not overflow and self._room is not None:
                draft = self._room.take(self._sent)
        if event is not None:
            if self._following is not None:
                self._following.handed(event.seq)
            return event.item
        if overflow:
            return Finished(_overflow(self._sent))
        return None if draft is None else _draft_item(draft)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            let_go, self._let_go = self._let_go, []
        for leave in let_go:
            leave()

    def on_close(self, leave: Callable[[], None]) -> None:
        """Calls `leave` when the stream ends; at once when it has."""
        with self._lock:
            if not self._closed:
                self._let_go.append(leave)
                return
        leave()

    def follow(self, following: Following) -> None:
        """Tells `following` what the reader was handed, until the stream ends."""
        self._following = following
        self.on_close(following.leave)

    def offer_event(self, event: EventItem) -> None:
        """A commit. Never waits: a full queue ends the subscription."""
        with self._lock:
            if self._closed or (self._hwm is not None and event.seq <= self._hwm):
                return
            if self._refused or len(self._events) >= QUEUE_SIZE:
                self._refused = event.seq
            else:
                self._events.append(event)
        self._wake()

    def offer_draft(self, draft: t.Draft) -> None:
        """A draft. Never waits and never ends the subscription."""
        if self._room is None:
            return
        with self._lock:
            self._room.add(draft)
        self._wake()

    def begin(self, start: Start, live: t.Live | None) -> None:
        """The start was read: what the queue holds of it already is dropped."""
        with self._lock:
            self._hwm = start.hwm
            self._events = deque(event for event in self._events if event.seq > start.hwm)
            if self._refused <= start.hwm:
                self._refused = 0
            if start.snapshot is None:
                self._starts.extend(start.events)
            else:
                self._starts.append(EventItem(start.hwm, "snapshot", start.snapshot(live)))
                self._note_sent(start.events)
            if not self._starts:
                self._sent = start.hwm

    def _next_event(self) -> EventItem | None:
        if self._starts:
            event = self._starts.popleft()
        elif self._events:
            event = self._events.popleft()
        else:
            return None
        self._note_sent((event,))
        if not self._starts and self._hwm is not None:
            self._sent = max(self._sent, self._hwm)  # the start covers the log up to its mark
        self._over = event.kind == "conversation_deleted"
        return event

    def _note_sent(self, events: Iterable[EventItem]) -> None:
        for event in events:
            self._sent = event.seq
            if self._room is not None:
                self._room.event_sent(event.kind, event.seq)


class Subscriptions(Struct):
    """Every open subscription, by conversation."""

    feed: Feed
    drafts: DraftHub
    followers: Followers
    read_start: ReadStart
    _lock: threading.Lock = field(default_factory=threading.Lock)  # "subscriptions"
    _open: dict[str, set[Subscription]] = field(default_factory=dict)

    def listen(self) -> Callable[[], None]:
        """Takes commits from the feed until the returned function is called."""
        return self.feed.listen(self._published)

    def open(
        self, params: m.ConversationSubscribeParams, *, answers_input: bool, tty: str | None
    ) -> Subscription:
        """A subscription with its start. Blocks on a reader. Raises Refusal."""
        subscription = Subscription(params.conversation_id, drafts=params.drafts)
        self._register(subscription)
        subscription.follow(self.followers.join(params.conversation_id, answers_input, tty))
        try:
            live = self._begin(subscription, params)
        except BaseException:
            subscription.close()
            raise
        if params.drafts:
            leave = self.drafts.listen(params.conversation_id, subscription.offer_draft, live)
            subscription.on_close(leave)
        return subscription

    def _begin(
        self, subscription: Subscription, params: m.ConversationSubscribeParams
    ) -> t.Live | None:
        """Reads and begins; returns what a snapshot's reader has of the running answer."""
        start = self.read_start(params)
        if start.snapshot is None:
            subscription.begin(start, None)
            return None
        live = self.drafts.live(params.conversation_id)
        for _ in range(_REREADS):
            if live is None or live.after_seq <= start.hwm:
                break
            start = self.read_start(params)  # always read before `live`, never after
            live = self.drafts.live(params.conversation_id)
        subscription.begin(start, live)
        return live

    def _register(self, subscription: Subscription) -> None:
        with self._lock:
            self._open.setdefault(subscription.conversation_id, set()).add(subscription)
        subscription.on_close(lambda: self._forget(subscription))

    def _forget(self, subscription: Subscription) -> None:
        with self._lock:
            siblings = self._open.get(subscription.conversation_id, set())
            siblings.discard(subscription)
            if not siblings:
                self._open.pop(subscription.conversation_id, None)

    def _published(self, batch: Sequence[Published]) -> None:
        """On the `store-writer`, after the commit, in commit order."""
        for published in batch:
            if published.conversation_id is None:
                continue
            with self._lock:
                interested = list(self._open.get(published.conversation_id, ()))
            if interested:
                item = ev.event_item_bytes(published.envelope)
                event = EventItem(published.seq, published.kind, item)
                for subscription in interested:
                    subscription.offer_event(event)


def _draft_item(draft: t.Draft) -> bytes:
    return codec.encode(
        m.SubscribeDraft(turn_id=draft.turn_id, after_seq=draft.after_seq, draft=draft.draft)
    )


def _overflow(last_seq: int) -> ErrorBody:
    return ErrorBody(
        t.ErrorCode.OVERFLOW,
        "this subscription fell behind; subscribe again after last_seq",
        {"last_seq": last_seq},
    )


def _nothing() -> None:
    """Before the transport took the stream: the first pull looks anyway."""
