"""The thread `search-indexer`: brings new texts of the log into the search index.

After a start, and after a change of the redaction, it reads the whole log (the backfill); later it
is woken by commits that hold something for the index. It has a read-only connection of its own and
writes through the store-writer, page by page, with pauses: the writer is its own for at most a
fifth of the time, and while a turn runs for one page a second. During a pause it already reads and
cleans the next page. When a round wrote more than one page, it merges the index's segments in
steps, with the same pauses, until a step finds no work.

A fault of the store costs one line in the log and is tried again. Stops with `stop()`, at the end
of a page.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Final, Protocol, TypeVar

from efr.base.clock import Clock
from efr.store import db
from efr.store.checkpoints import eager_checkpoints
from efr.store.db import Connection
from efr.store.errors import StoreClosed, StoreError
from efr.store.feed import Feed, Published
from efr.store.search.documents import KINDS
from efr.store.search.pages import (
    BESIDE_A_TURN,
    WHOLE,
    Page,
    merge_step,
    read_page,
    write_page,
)
from efr.store.search.state import open_for_search, state
from efr.threads.reply import Reply

log = logging.getLogger("efr.threads")

T = TypeVar("T")

REST: Final = 4  # pauses as many times a job's own time: at most a fifth of the writer
LEAST_REST_S: Final = 0.010
BESIDE_A_TURN_S: Final = 1.0  # between two pages while a turn runs
AFTER_A_FAULT_S: Final = 60.0  # a full disk is not asked again at once


class Writer(Protocol):
    """The store-writer, as this thread uses it."""

    def run(
        self,
        job: Callable[[Connection], T],
        around: Callable[[Connection], AbstractContextManager[None]] | None = None,
    ) -> Reply[T]:
        """One transaction, with something around it."""
        ...


def pause_s(job_s: float, turn_runs: bool) -> float:
    """How long the writer is left alone after a job of that length."""
    rest = max(REST * job_s, LEAST_REST_S)
    return max(rest, BESIDE_A_TURN_S) if turn_runs else rest


class Indexer:
    """`turn_runs` says whether any turn runs now. `reached` is told each step's name, before and
    after its commit; it is for tests that stop the process there."""

    def __init__(
        self,
        path: Path,
        writer: Writer,
        feed: Feed,
        clock: Clock,
        turn_runs: Callable[[], bool],
        on_fatal: Callable[[BaseException], None],
        reached: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._path = path
        self._writer = writer
        self._feed = feed
        self._clock = clock
        self._turn_runs = turn_runs
        self._on_fatal = on_fatal
        self._reached = reached
        self._news = Event()
        self._stopped = Event()
        self._built = Event()
        self._thread = Thread(target=self._live, name="search-indexer")
        self._job_s = 0.0
        self._merging = False  # segments may be left to merge

    @property
    def building(self) -> bool:
        """Whether the backfill runs: searches still find less than there is. Any thread."""
        return not self._built.is_set()

    def start(self) -> None:
        """Starts the thread; the database must exist."""
        self._thread.start()

    def wait_until_built(self, timeout_s: float) -> bool:
        """Blocks until the backfill is through; False when it is not by then."""
        return self._built.wait(timeout_s)

    def stop(self) -> None:
        """Ends the thread after the page it is at, and joins. May be called twice."""
        self._stopped.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join()

    def _published(self, events: Sequence[Published]) -> None:
        """On the store-writer, after each commit."""
        if any(event.kind in KINDS for event in events):
            self._news.set()

    def _live(self) -> None:
        """The thread's life."""
        forget = self._feed.listen(self._published)
        try:
            with db.translated(self._path), closing(open_for_search(self._path)) as conn:
                while not self._stopped.is_set():
                    self._news.clear()
                    if self._try_round(conn):
                        self._news.wait()
                    else:
                        self._stopped.wait(AFTER_A_FAULT_S)
        except Exception as exc:
            log.critical("search-indexer ended: %s", exc, exc_info=exc)
            self._on_fatal(exc)
        finally:
            forget()

    def _try_round(self, conn: Connection) -> bool:
        """False: a fault of the store; what was not done is found again."""
        try:
            with db.translated(self._path, conn):
                self._round(conn)
        except StoreClosed:
            self._stopped.set()  # the writer is gone, and efrd is about to stop this thread too
        except StoreError as exc:
            log.warning("the search index is not brought up to date now: %s", exc)
            return False
        return True

    def _round(self, conn: Connection) -> None:
        """Everything there is, then the merges, unless news come between two steps."""
        pages = 0
        page = self._read(conn, state(conn).indexed_seq)
        while page is not None and not self._stopped.is_set():
            written = self._write(page)
            pages += 1
            ends = self._clock.monotonic() + pause_s(self._job_s, self._turn_runs())
            page = self._read(conn, page.upto if written else state(conn).indexed_seq)
            self._stopped.wait(max(0.0, ends - self._clock.monotonic()))
        if self._stopped.is_set():
            return
        if self.building:
            log.info("the search index is complete")
            self._built.set()
        self._merging = self._merging or pages > 1
        while self._merging and not self._stopped.is_set() and not self._news.is_set():
            self._merging = self._merge()
            self._stopped.wait(pause_s(self._job_s, self._turn_runs()))

    def _read(self, conn: Connection, after: int) -> Page | None:
        bounds = BESIDE_A_TURN if self._turn_runs() else WHOLE
        return db.read(conn, lambda: read_page(conn, after, bounds))

    def _write(self, page: Page) -> bool:
        def job(conn: Connection) -> bool:
            written = write_page(conn, page)
            self._reached("page written")
            return written

        done = self._writer.run(job, self._timed).result()
        self._reached("page committed")
        return done

    def _merge(self) -> bool:
        """One step; False when there was no work."""
        worked = self._writer.run(merge_step, self._timed).result()
        self._reached("merged")
        return worked

    @contextmanager
    def _timed(self, conn: Connection) -> Iterator[None]:
        """Around a job, on the writer's thread: how long it takes, its commit included."""
        began = self._clock.monotonic()
        with eager_checkpoints(conn):
            yield
        self._job_s = self._clock.monotonic() - began
