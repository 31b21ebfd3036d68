"""The threads `store-reader-N`: a read-only connection each.

`read` runs a function on one of them in one read transaction, so all it reads is of one moment.
Requests wait in one inbox of 64; when it is full, the caller waits. A reader that is stuck keeps
its place; the others go on.

Four of them: with SQLite's calls outside the interpreter lock, one slow read must not hold up the
short ones of the other callers, and more than the cores plus a few only costs memory.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeAlias, TypeVar

from efr.store import db
from efr.store.db import Connection
from efr.store.errors import StoreClosed, StoreCorrupt
from efr.threads.inbox import Closed, Inbox
from efr.threads.reply import Reply

log = logging.getLogger("efr.threads")

T = TypeVar("T")
Request: TypeAlias = tuple[Callable[[Connection], Any], Reply[Any]]

READERS: Final = 4
INBOX: Final = 64  # requests; a full inbox makes its callers wait for a reader


class ReaderPool:
    """Any thread may read. The database must exist."""

    def __init__(self, path: Path, count: int = READERS) -> None:
        self._path = path
        self._inbox: Inbox[Request] = Inbox(INBOX)
        self._opened: list[Reply[None]] = [Reply() for _ in range(count)]
        self._threads = [
            Thread(target=self._live, args=(opened,), name=f"store-reader-{n}")
            for n, opened in enumerate(self._opened, start=1)
        ]

    def start(self) -> None:
        """Starts the threads; blocks until each is open. Raises what kept one from that."""
        for thread in self._threads:
            thread.start()
        errors = [error for opened in self._opened if (error := opened.exception()) is not None]
        if errors:
            self.stop()
            raise errors[0]

    def read(self, fn: Callable[[Connection], T]) -> T:
        """Runs `fn(connection)` in one read transaction on a reader; blocks for its answer.

        Raises what `fn` raises, faults of the store, or StoreClosed after the stop.
        """
        reply: Reply[T] = Reply()
        try:
            self._inbox.put((fn, reply))
        except Closed as exc:
            raise StoreClosed("the readers have stopped") from exc
        return reply.result()

    def stop(self) -> None:
        """Finishes what is queued, closes the connections and joins. May be called twice."""
        self._inbox.close()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _live(self, opened: Reply[None]) -> None:
        """A thread's life."""
        try:
            conn = db.open(self._path, read_only=True)
        except Exception as exc:  # noqa: BLE001 - it reaches the starter
            opened.set_exception(exc)
            return
        with closing(conn):
            opened.set_result(None)
            while (request := self._inbox.take()) is not None:
                _read(conn, *request)
                del request  # with its answer, which may be large


def _read(conn: Connection, fn: Callable[[Connection], Any], reply: Reply[Any]) -> None:
    try:
        with db.translated(db.path_of(conn), conn):
            result = db.read(conn, lambda: fn(conn))
    except StoreCorrupt as exc:
        log.error("a read of %s hit a damaged page: %s", _asker(fn), exc)
        reply.set_exception(exc)
    except Exception as exc:  # noqa: BLE001 - it is the caller's answer, not this thread's end
        reply.set_exception(exc)
    else:
        reply.set_result(result)


def _asker(fn: Callable[[Connection], Any]) -> str:
    """Who reads: a read is most often a lambda in a function that has a name."""
    whole = getattr(fn, "func", fn)  # of a partial
    name = getattr(whole, "__qualname__", repr(whole)).split(".<locals>", 1)[0]
    return f"{getattr(whole, '__module__', '?')}.{name}"
