"""The thread `store-writer`: owns the one read-write connection.

Its inbox holds 64 requests; when it is full, the caller waits. All batches that wait share one
commit; a job has a transaction of its own. After a commit the events go to the feed, and then each
caller gets its answer. A batch or a job that fails never ends the thread. Anything else that fails
does, and goes to `on_fatal`: without this thread nothing can be recorded.

Stops after its last caller has stopped: `stop()` commits what was queued.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any, Final, TypeAlias, TypeVar

from efr.base.clock import Clock
from efr.store import db
from efr.store.append import Appender
from efr.store.batch import Batch, Committed
from efr.store.db import Connection
from efr.store.errors import StoreClosed
from efr.store.feed import Feed
from efr.threads.inbox import Closed, Inbox
from efr.threads.reply import Reply
from efr.threads.right_of_way import RightOfWay

log = logging.getLogger("efr.threads")

T = TypeVar("T")
Job: TypeAlias = Callable[[Connection], Any]
Around: TypeAlias = Callable[[Connection], AbstractContextManager[None]]
Request: TypeAlias = tuple[Batch | Job, Reply[Any]]

INBOX: Final = 64  # requests; a full inbox makes its callers wait for the disk

# After a shared commit its callers are about to come back with their next request. To wait for as
# many of them again, about as long as a commit takes, makes one commit of what would be two, with
# half the changes of threads. A lone caller is never waited for.
PATIENCE_S: Final = 0.0002


class StoreWriter:
    """`append`, `run` and `post` are the only ways in; any thread may call them.

    All three raise StoreClosed after the stop. `way` is what searches give way to.
    """

    def __init__(
        self, path: Path, clock: Clock, feed: Feed, on_fatal: Callable[[BaseException], None]
    ) -> None:
        self._path = path
        self._clock = clock
        self._feed = feed
        self._on_fatal = on_fatal
        self.way = RightOfWay(clock)
        self._inbox: Inbox[Request] = Inbox(INBOX)
        self._at_work: list[Request] = []  # what was taken last
        self._opened: Reply[None] = Reply()
        self._thread = Thread(target=self._live, name="store-writer")

    def start(self) -> None:
        """Starts the thread; blocks until the database is open. Raises what kept it from that."""
        self._thread.start()
        if (error := self._opened.exception()) is not None:
            self._thread.join()
            raise error

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread.is_alive()

    def append(self, batch: Batch) -> Reply[Committed]:
        """Queues a batch; blocks while the inbox is full. The answer comes after the commit and
        after the feed; a refusal or a fault of `efr.store.errors` comes as its exception."""
        reply: Reply[Committed] = Reply()
        self._enter(self._inbox.put, (batch, reply))
        return reply

    def run(self, job: Callable[[Connection], T], around: Around | None = None) -> Reply[T]:
        """Queues a job: one transaction of its own on the writer's connection. Blocks while the
        inbox is full. A job must be short, and must not add to the event log.

        `around` is entered before the transaction and left after it, also when it failed.
        """
        reply: Reply[T] = Reply()
        self._enter(self._inbox.put, (job if around is None else _Wrapped(job, around), reply))
        return reply

    def post(self, job: Callable[[Connection], T]) -> Reply[T]:
        """The same, and never blocks: for the few small jobs of threads that must not wait."""
        reply: Reply[T] = Reply()
        self._enter(self._inbox.post, (job, reply))
        return reply

    def _enter(self, put: Callable[[Request], None], request: Request) -> None:
        self.way.claim()
        try:
            put(request)
        except Closed as exc:
            self.way.release()
            raise StoreClosed("the writer has stopped") from exc

    def stop(self) -> None:
        """Commits what is queued, closes the database and joins. May be called twice."""
        self._inbox.close()
        if self._thread.is_alive():
            self._thread.join()

    def _live(self) -> None:
        """The thread's life."""
        try:
            with closing(db.open_to_write(self._path)) as conn:
                conn.in_commit = False  # answers first
                appender = Appender(conn, self._clock)
                self._opened.set_result(None)
                hoped = 1
                while requests := self._inbox.take_all(hoped, PATIENCE_S):
                    hoped = len(requests)
                    self._at_work = requests
                    self._serve(conn, appender, requests)
                    self._at_work = []
                    conn.move_if_due()
                    if self._inbox.empty:
                        self.way.release()
        except BaseException as exc:  # noqa: BLE001 - logged and reported there
            self._die(exc)

    def _die(self, exc: BaseException) -> None:
        self._inbox.close()
        self.way.release()
        for _, reply in [*self._at_work, *self._inbox.take_all()]:
            if not reply.done():
                reply.set_exception(StoreClosed("the writer ended"))
        if not self._opened.done():
            self._opened.set_exception(exc)  # it reaches the starter
            return
        log.critical("store-writer ended: %s", exc, exc_info=exc)
        self._on_fatal(exc)

    def _serve(self, conn: Connection, appender: Appender, requests: Sequence[Request]) -> None:
        """Everything that waited, in its order: runs of batches share a commit."""
        for is_batch, run in groupby(requests, lambda request: isinstance(request[0], Batch)):
            if is_batch:
                self._append(appender, list(run))
            else:
                for job, reply in run:
                    _do(conn, job, reply)

    def _append(self, appender: Appender, requests: Sequence[tuple[Any, Reply[Any]]]) -> None:
        done = appender.append([batch for batch, _ in requests])
        self._feed.publish(done.entries)
        for (_, reply), outcome in zip(requests, done.outcomes, strict=True):
            if isinstance(outcome, Committed):
                reply.set_result(outcome)
            else:
                reply.set_exception(outcome)


class _Wrapped:
    """A job with something around its transaction."""

    def __init__(self, job: Job, around: Around) -> None:
        self.around = around
        self._job = job

    def __call__(self, conn: Connection) -> Any:
        return self._job(conn)


def _do(conn: Connection, job: Any, reply: Reply[Any]) -> None:
    """Runs a job and answers after its commit."""
    around = job.around(conn) if isinstance(job, _Wrapped) else nullcontext()
    try:
        with db.translated(db.path_of(conn), conn), around:
            result = db.transact(conn, lambda: job(conn))
    except Exception as exc:  # noqa: BLE001 - it is the job's answer, not this thread's end
        reply.set_exception(exc)
    else:
        reply.set_result(result)
