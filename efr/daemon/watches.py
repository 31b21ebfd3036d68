"""`conversations.watch`: the recent list as it is, then its rows as commits change them.

Commits name the conversations that may look different now (`store-writer`); the thread
`list-watch` reads those rows, once for all watches, and offers them; each watch sends what differs
from what its client has. Several commits before one read are one change. A watch registers before
it reads its list, so nothing falls between; what was read before the list is not told.

A watch keeps at most 64 changes: an offer never waits, and one that finds the queue full ends the
stream with `overflow` after what was queued. A read that fails ends it too: the client watches
again.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from efr.daemon.recent import Machine, recent_row
from efr.store import queries
from efr.store.errors import StoreError
from efr.store.feed import Published
from efr.threads.requests import Finished
from efr.wire import codec
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import ErrorBody, refuse

USUAL, MOST = 20, 50  # rows of the snapshot (docs/protocol.md, "conversations.watch")
QUEUE_SIZE = 64  # changes that wait for one client, as for a subscription

# The only events after which a row can differ in what is compared (store, "projections").
_TOUCHING = frozenset(
    {
        "conversation_created",
        "conversation_deleted",
        "terminal_attached",
        "prompt_queued",
        "prompt_withdrawn",
        "prompt_held",
        "turn_started",
        "turn_completed",
        "turn_failed",
        "turn_interrupted",
        "turn_cancelled",
        "scope_changed",
        "approval_requested",
        "approval_resolved",
        "approval_expired",
    }
)

_log = logging.getLogger("efr.daemon")

_UNKNOWN = object()  # a row that the client was never sent

Read = Callable[[Callable[[Any], Any]], Any]
Touch = Callable[[Mapping[str, int]], None]  # conversations, and the newest event of each


class _Row(Struct, frozen=True):
    """A row in its encoded item. `key` is what is compared; None: there is no such row."""

    conversation_id: str
    key: object
    item: bytes


class _Change(Struct, frozen=True):
    """A row as one read saw it. `hwm` is the newest number of the log then."""

    row: _Row
    seq: int  # of the event that made it differ
    hwm: int


class Watch:
    """The stream of one request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # "watch"
        self._wake: Callable[[], None] = _nothing
        self._leave: Callable[[], None] = _nothing
        self._known: dict[str, object] = {}  # what the client has, by conversation
        self._start: bytes | None = None
        self._changes: deque[_Change] = deque()  # at most QUEUE_SIZE
        self._hwm: int | None = None  # None: the list is not read yet
        self._sent = 0
        self._overflow = False

    def set_ready(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def on_close(self, leave: Callable[[], None]) -> None:
        """What to call when the stream ends."""
        self._leave = leave

    def next_item(self) -> bytes | Finished | None:
        with self._lock:
            if self._start is not None:
                start, self._start = self._start, None
                return start
            if self._changes:
                change = self._changes.popleft()
                self._sent = max(self._sent, change.seq)
                return change.row.item
            return Finished(_overflow(self._sent)) if self._overflow else None

    def close(self) -> None:
        self._leave()

    def begin(self, hwm: int, rows: Sequence[_Row], snapshot: bytes) -> None:
        """The list was read."""
        with self._lock:
            self._hwm = hwm
            self._start = snapshot
            self._known = {row.conversation_id: row.key for row in rows}
            early, self._changes = self._changes, deque()
            for change in early:
                self._keep(change)

    def offer(self, changes: Sequence[_Change]) -> None:
        """Rows that were read again. Never waits: a full queue ends the watch."""
        with self._lock:
            before = len(self._changes)
            for change in changes:
                self._keep(change)
            woken = len(self._changes) > before or self._overflow
        if woken:
            self._wake()

    def lose(self) -> None:
        """A change may be missing from here on."""
        with self._lock:
            self._overflow = True
        self._wake()

    def _keep(self, change: _Change) -> None:
        """With the lock."""
        if self._overflow:
            return
        if self._hwm is not None:
            row = change.row
            if change.hwm <= self._hwm or self._known.get(row.conversation_id, _UNKNOWN) == row.key:
                return
            self._known[row.conversation_id] = row.key
        if len(self._changes) >= QUEUE_SIZE:
            self._overflow = True
        else:
            self._changes.append(change)


class Watches:
    """Every open watch."""

    def __init__(self, read: Read, machine: Callable[[], Machine]) -> None:
        self._read = read  # in one transaction of a reader; blocks
        self._machine = machine
        self._lock = threading.Lock()  # "watches"
        self._open: frozenset[Watch] = frozenset()

    def open(self, params: m.ConversationsWatchParams) -> Watch:
        """A watch with its list. Blocks on a reader. Raises Refusal."""
        if params.limit is not None and params.limit < 1:
            raise refuse(t.ErrorCode.INVALID, "a list has at least 1 row")
        limit = min(params.limit or USUAL, MOST)
        watch = Watch()
        watch.on_close(lambda: self._forget(watch))
        with self._lock:
            self._open |= {watch}
        try:
            machine = self._machine()
            hwm, rows = self._read(lambda conn: _list(conn, limit, machine))
        except BaseException:
            watch.close()
            raise
        snapshot = codec.encode(m.WatchSnapshot(conversations=tuple(rows)))
        watch.begin(hwm, [_changed(row) for row in rows], snapshot)
        return watch

    def published(self, touch: Touch, batch: Sequence[Published]) -> None:
        """Has what these events touch looked at. On the `store-writer`, after the commit."""
        if not self._open:
            return
        touched = {
            one.conversation_id: one.seq
            for one in batch
            if one.kind in _TOUCHING and one.conversation_id is not None
        }
        if touched:
            touch(touched)

    def look(self, touched: Mapping[str, int]) -> None:
        """Reads these rows and tells every watch. On `list-watch`; blocks on a reader."""
        watches = self._open
        if not watches:
            return
        try:
            machine = self._machine()
            changes = self._read(lambda conn: _changes(conn, touched, machine))
        except (StoreError, OSError) as exc:  # OSError: /proc, without a free descriptor
            _log.warning("the watches of the list end, it cannot be read: %s", exc)
            for watch in watches:
                watch.lose()
            return
        for watch in watches:
            watch.offer(changes)

    def _forget(self, watch: Watch) -> None:
        with self._lock:
            self._open -= {watch}


def _list(conn: Any, limit: int, machine: Machine) -> tuple[int, list[t.RecentRow]]:
    rows = queries.conversations_recent(conn, limit)
    return queries.high_water(conn), _recent(conn, rows, machine)


def _changes(conn: Any, touched: Mapping[str, int], machine: Machine) -> list[_Change]:
    """In the order of their newest events."""
    hwm = queries.high_water(conn)
    rows = [row for one in touched if (row := queries.conversation(conn, one)) is not None]
    found = {row.summary.id: _changed(row) for row in _recent(conn, rows, machine)}
    return [
        _Change(found.get(one) or _removed(one), seq, hwm)
        for one, seq in sorted(touched.items(), key=lambda item: item[1])
    ]


def _recent(
    conn: Any, rows: Sequence[queries.ConversationRow], machine: Machine
) -> list[t.RecentRow]:
    turns = queries.prompt_turns(conn, [row.id for row in rows])
    return [recent_row(row, turns.get(row.id, 0), None, machine) for row in rows]


def _changed(row: t.RecentRow) -> _Row:
    said = row.summary
    key = (said.title, said.status, said.cwd, said.scope, row.route, row.project, row.turns)
    return _Row(said.id, key, codec.encode(m.WatchChanged(conversation=row)))


def _removed(conversation_id: str) -> _Row:
    item = m.WatchRemoved(conversation_id=conversation_id)
    return _Row(conversation_id, None, codec.encode(item))


def _overflow(last_seq: int) -> ErrorBody:
    return ErrorBody(
        t.ErrorCode.OVERFLOW, "this watch fell behind; watch again", {"last_seq": last_seq}
    )


def _nothing() -> None:
    """Before the transport took the stream: the first pull looks anyway."""
