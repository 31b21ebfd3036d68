"""The store-writer: single-event batches through its inbox, beside raw apsw commits.

The yardstick inserts the same event, encoded beforehand, into the same table in a database of its
own in the same directory: BEGIN IMMEDIATE, INSERT, COMMIT. The writer's batches also project the
event (conversation, turn), cross two threads, and are answered one by one. Each round measures all
of them, one after the other, so other work on the machine meets all of them alike.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.table import Row
from bench.writing import CONVERSATION, TURN, a_writer
from efr.store import db, queries
from efr.store.batch import Batch, NewEvent
from efr.store.db import Connection
from efr.store.migrate import migrate
from efr.store.rebuild import rebuild
from efr.threads.readers import ReaderPool
from efr.threads.writer import StoreWriter
from efr.wire import events as ev

ROUNDS: Final = 9
BATCHES: Final = 4000
CALLERS: Final = 8
READS: Final = 2000
TEXT: Final = "some words of an answer that streams"


def rows() -> Iterator[Row]:
    """Rows in the order of the table."""
    with TemporaryDirectory() as name, store(Path(name)) as path, a_writer(path) as writer:
        commits, pipelined, blocking = [], [], []
        with raw_store(Path(name)) as raw:
            for _ in range(ROUNDS):
                commits.append(per_second(BATCHES, lambda: commit_raw(raw)))
                pipelined.append(per_second(BATCHES, lambda: append_pipelined(writer)))
                blocking.append(per_second(BATCHES, lambda: append_blocking(writer)))
        best = statistics.median(commits)
        yard = f"of raw apsw commits, {best:,.0f}/s"
        for label, rates in (("pipelined", pipelined), (f"{CALLERS} callers", blocking)):
            rate = statistics.median(rates)
            yield Row(f"single-event batches, {label}", f"{rate:,.0f}/s", yard, rate / best)
        yield from reads(path)
    yield rebuilding()


def append_pipelined(writer: StoreWriter) -> None:
    """One caller that asks for nothing until the last."""
    reply = writer.append(one_event())
    for _ in range(BATCHES - 1):
        reply = writer.append(one_event())
    reply.result()


def append_blocking(writer: StoreWriter) -> None:
    """Callers that each wait for their answer before the next batch."""

    def call() -> None:
        for _ in range(BATCHES // CALLERS):
            writer.append(one_event()).result()

    callers = [threading.Thread(target=call) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


def one_event() -> Batch:
    """The most frequent batch: a piece of an answer."""
    return Batch((NewEvent(CONVERSATION, piece()),))


def piece() -> ev.AssistantMessageUpdated:
    """A piece of an answer."""
    return ev.AssistantMessageUpdated(turn_id=TURN, index=0, offset=1234, delta=TEXT)


def commit_raw(conn: Connection) -> None:
    """The yardstick."""
    first = queries.high_water(conn) + 1
    text = ev.encode_event(piece()).decode()
    for seq in range(first, first + BATCHES):
        conn.execute("BEGIN IMMEDIATE")
        conn.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
            (seq, CONVERSATION, TURN, "assistant_message_updated", text, 1),
        )
        conn.execute("COMMIT")


def reads(path: Path) -> Iterator[Row]:
    """A short read through the pool, beside the same one on a connection at hand."""
    pool = ReaderPool(path)
    pool.start()
    conn = db.open(path, read_only=True)
    try:
        direct = per_second(READS, lambda: repeat(lambda: queries.turn(conn, TURN)))
        pooled = per_second(
            READS, lambda: repeat(lambda: pool.read(lambda c: queries.turn(c, TURN)))
        )
    finally:
        conn.close()
        pool.stop()
    yield Row(
        "a turn's row through a reader",
        f"{pooled:,.0f}/s",
        f"of the same read in place, {direct:,.0f}/s",
        pooled / direct,
    )


def repeat(read: Callable[[], object]) -> None:
    """So many times."""
    for _ in range(READS):
        read()


def rebuilding() -> Row:
    """The projections of a log of 100,000 events, built anew."""
    with TemporaryDirectory() as name, raw_store(Path(name)) as conn:
        for _ in range(100_000 // BATCHES):
            commit_raw(conn)
        began = time.perf_counter()
        count = rebuild(conn)
        seconds = time.perf_counter() - began
    return Row(f"rebuild of {count:,} events", f"{seconds:.2f} s", "of 3 s", seconds / 3)


def per_second(count: int, work: Callable[[], None]) -> float:
    """How many of `count` steps a second."""
    began = time.perf_counter()
    work()
    return count / (time.perf_counter() - began)


@contextmanager
def store(directory: Path) -> Iterator[Path]:
    """A migrated store."""
    path = directory / "efr.sqlite"
    conn = db.open(path)
    migrate(conn)
    conn.close()
    yield path


@contextmanager
def raw_store(directory: Path) -> Iterator[Connection]:
    """Another one, and a connection to it."""
    conn = db.open(directory / "raw.sqlite")
    migrate(conn)
    try:
        yield conn
    finally:
        conn.close()
