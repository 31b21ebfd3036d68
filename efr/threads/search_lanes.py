"""The threads `search-lane-N`: a read-only connection each, for searches alone.

Searches never take a reader, so a burst of keys in a picker cannot slow a prompt. Three run at one
time (the terminal's list, its preview, a phone); more wait, at most 64. Of the searches of one
asker that wait only the newest is kept: nobody looks at the others any more. A lane is free again
when its search has ended, also one that was cancelled. A connection opens with its lane's first
search. A search pauses while the store-writer has a batch, for a while.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple, TypeVar

from efr.base.cancel import Cancel, Cancelled
from efr.store import db
from efr.store.db import Connection
from efr.store.errors import StoreBusy, StoreClosed
from efr.store.search.state import open_for_search
from efr.threads.reply import Reply
from efr.threads.right_of_way import RightOfWay

T = TypeVar("T")

LANES: Final = 3
INBOX: Final = 64  # searches that wait; more are refused as busy
PATIENCE_S: Final = 0.05  # in which a search lets batches go first: somebody is typing
_LOOK_EVERY: Final = 2_000  # steps of SQLite's machine: less than a commit takes


class Replaced(Cancelled):
    """A newer search of the same asker came before this one began."""


class Asker(NamedTuple):
    """Who asks; `number` grows from one search of theirs to the next."""

    who: Hashable
    number: int


class _Asked:
    """One search: who asked, what to run, where its answer goes."""

    def __init__(self, asker: Asker, search: Callable[[Connection], Any]) -> None:
        self.asker = asker
        self.search = search
        self.reply: Reply[Any] = Reply()
        self.cancelled = False  # set by any thread, looked at by the lane
        self.patience_s = PATIENCE_S


class SearchLanes:
    """Any thread may ask. The database must exist by the first search."""

    def __init__(self, path: Path, way: RightOfWay, count: int = LANES) -> None:
        self._path = path
        self._way = way
        self._changed = threading.Condition()  # "search lanes"
        self._waiting: deque[_Asked] = deque()
        self._stopping = False
        self._threads = [
            Thread(target=self._live, name=f"search-lane-{n}") for n in range(1, count + 1)
        ]

    def start(self) -> None:
        """Starts the threads; opens nothing yet."""
        for thread in self._threads:
            thread.start()

    def ask(
        self, asker: Asker, search: Callable[[Connection], T], cancel: Cancel | None = None
    ) -> Reply[T]:
        """Queues `search(connection)`, to run in one read transaction; never blocks.

        The answer may be Cancelled (Replaced among them), a fault of the store, or what `search`
        raises. Raises StoreBusy when too many wait and StoreClosed after the stop.
        """
        asked = _Asked(asker, search)
        with self._changed:
            if self._stopping:
                raise StoreClosed("the search lanes have stopped")
            older = self._put(asked)
        if older is not None:
            older.reply.set_exception(Replaced())
        if cancel is not None:
            forget = cancel.on_cancel(lambda: self._cancel(asked))
            asked.reply.add_done_callback(lambda _: forget())
        return asked.reply

    def _put(self, asked: _Asked) -> _Asked | None:
        """Lets it wait; returns the one of its asker that does not wait any more, which may be
        itself. Called with the lock."""
        other = next((one for one in self._waiting if one.asker.who == asked.asker.who), None)
        if other is not None and other.asker.number > asked.asker.number:
            return asked
        if other is not None:
            self._waiting.remove(other)
        elif len(self._waiting) >= INBOX:
            raise StoreBusy(self._path, f"{INBOX} searches wait")
        self._waiting.append(asked)
        self._changed.notify()
        return other

    def stop(self) -> None:
        """Ends the searches that run, answers those that wait, and joins. May be called twice."""
        with self._changed:
            self._stopping = True
            waiting = list(self._waiting)
            self._waiting.clear()
            self._changed.notify_all()
        for asked in waiting:
            asked.reply.set_exception(StoreClosed("the search lanes have stopped"))
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _cancel(self, asked: _Asked) -> None:
        """Takes a waiting search out; a running one ends at its lane's next look."""
        with self._changed:
            asked.cancelled = True
            waits = asked in self._waiting
            if waits:
                self._waiting.remove(asked)
        if waits:
            asked.reply.set_exception(Cancelled())

    def _live(self) -> None:
        """A thread's life."""
        conn: Connection | None = None
        try:
            while (asked := self._take()) is not None:
                try:
                    with db.translated(self._path):
                        conn = conn or open_for_search(self._path)
                        result = self._run(conn, asked)
                except Exception as exc:  # noqa: BLE001 - it is the asker's answer
                    asked.reply.set_exception(Cancelled() if asked.cancelled else exc)
                else:
                    asked.reply.set_result(result)
        finally:
            if conn is not None:
                conn.close()

    def _take(self) -> _Asked | None:
        with self._changed:
            while not self._waiting and not self._stopping:
                self._changed.wait()
            return self._waiting.popleft() if self._waiting else None

    def _run(self, conn: Connection, asked: _Asked) -> Any:
        """One search in one read transaction. A cancel ends the statement that runs, or the next
        one: sqlite3_interrupt() would do nothing between two statements."""

        def look() -> bool:
            self._give_way(asked)
            return asked.cancelled

        def begin(*_: object) -> bool:
            self._give_way(asked)
            return True

        conn.set_progress_handler(look, _LOOK_EVERY, id="look")
        conn.exec_trace = begin
        try:
            return db.read(conn, lambda: asked.search(conn))
        finally:
            conn.set_progress_handler(None, id="look")
            conn.exec_trace = None

    def _give_way(self, asked: _Asked) -> None:
        """Lets batches go first, as long as the search has patience."""
        if asked.patience_s > 0:
            asked.patience_s -= self._way.give(asked.patience_s)
