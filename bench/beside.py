"""What the end of a turn notices of the search index: its commit alone, and beside the work.

On few cores every other thread costs something. How much of it is the machine's own is told by
bare apsw: the same rows, committed beside the same work, which another process does on a copy.
A round measures all of them, one after the other; each number is the median of the rounds.
"""

from __future__ import annotations

import random
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from bench.table import Row
from bench.writing import CONVERSATION, TURN, a_writer
from efr.base.clock import SystemClock
from efr.daemon.recent import Asker, Machine
from efr.daemon.searching import Searched, Searches
from efr.store import db
from efr.store.batch import Batch, NewEvent, TurnMessage
from efr.store.db import Connection
from efr.store.feed import Feed
from efr.store.search.state import prepare
from efr.text.query import parse_query
from efr.threads.indexer import Indexer
from efr.threads.right_of_way import RightOfWay
from efr.threads.search_lanes import LANES, SearchLanes
from efr.threads.search_lanes import Asker as LaneAsker
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from scripts.corpus import COMMON

COMMITS: Final = 500  # a round; five of them are its slowest hundredth
ROUNDS: Final = 5
EVERY_S: Final = 0.002  # between two commits: a turn does not commit all the time

CLOCK: Final = SystemClock()
MACHINE: Final = Machine((), lambda row: False)

ALONE: Final = "alone"
WORK: Final = {"backfill": "the backfill runs", "searches": f"{LANES} lanes search"}


def rows(filled: Path, directory: Path) -> Iterator[Row]:
    """`filled` is a store whose index is complete."""
    stores = {"searches": filled, "backfill": directory / "empty.sqlite"}
    shutil.copy(filled, stores["backfill"])
    empty_index(stores["backfill"])
    ours: dict[str, list[float]] = {what: [] for what in (ALONE, *WORK)}
    bare: dict[str, list[float]] = {what: [] for what in (ALONE, *WORK)}
    for what, path in stores.items():
        copy = directory / "copy.sqlite"
        shutil.copy(path, copy)
        for _ in range(ROUNDS):
            with a_writer(path) as writer:
                ours[ALONE].append(p99(partial(append_one, writer)))
                with at_work(what, path, writer):
                    ours[what].append(p99(partial(append_one, writer)))
            with closing(db.open(path)) as conn:
                bare[ALONE].append(p99(partial(commit_bare, conn)))
                with elsewhere(what, copy):
                    bare[what].append(p99(partial(commit_bare, conn)))
    for what, words in WORK.items():
        yield row(f"a turn's commit while {words}, p99", ours, what, "the same alone")
        yield row("  bare apsw beside it in another process", bare, what, "bare apsw alone")


def row(name: str, seconds: dict[str, list[float]], what: str, yardstick: str) -> Row:
    """Beside the work, as a multiple of alone."""
    alone, beside = statistics.median(seconds[ALONE]), statistics.median(seconds[what])
    shown = f"of {yardstick}, {alone * 1000:.1f} ms"
    return Row(name, f"{beside * 1000:.1f} ms", shown, beside / alone)


def p99(commit: Callable[[], object]) -> float:
    """Seconds that all but the slowest hundredth of the commits stay below."""
    taken: list[float] = []
    pause = threading.Event()
    for _ in range(COMMITS):
        began = time.perf_counter()
        commit()
        taken.append(time.perf_counter() - began)
        pause.wait(EVERY_S)
    return statistics.quantiles(taken, n=100)[98]


def append_one(writer: StoreWriter) -> None:
    """The last answer, the end, and the exact messages, through the store-writer."""
    events: tuple[ev.Event, ...] = (
        ev.AssistantMessageUpdated(turn_id=TURN, index=0, offset=0, delta="words " * 60),
        ev.TurnCompleted(turn_id=TURN),
    )
    message = TurnMessage(TURN, 0, "demo", "demo", b'{"text":"' + b"words " * 100 + b'"}')
    batch = Batch(tuple(NewEvent(CONVERSATION, event) for event in events), messages=(message,))
    writer.append(batch).result()


_EVENT: Final = "INSERT INTO events SELECT max(seq) + 1, ?, ?, ?, ?, 0 FROM events"
_MESSAGE: Final = "INSERT OR REPLACE INTO turn_messages VALUES (?, ?, 0, 'demo', 'demo', ?, 0)"


def commit_bare(conn: Connection) -> None:
    """The same rows."""
    words = '{"text":"' + "words " * 60 + '"}'
    conn.execute("BEGIN IMMEDIATE")
    for kind in ("assistant_message_updated", "turn_completed"):
        conn.execute(_EVENT, (CONVERSATION, TURN, kind, words))
    conn.execute("UPDATE conversations SET last_seq = last_seq + 1 WHERE id = ?", (CONVERSATION,))
    conn.execute("UPDATE turns SET last_seq = last_seq + 1 WHERE id = ?", (TURN,))
    conn.execute(_MESSAGE, (CONVERSATION, TURN, words))
    conn.execute("COMMIT")


@contextmanager
def at_work(what: str, path: Path, writer: StoreWriter) -> Iterator[None]:
    """The backfill, at its pace beside a turn, or searches without a pause."""
    if what == "backfill":
        work: AbstractContextManager[object] = indexing(path, writer, lambda: True)
    else:
        work = searching(path, writer.way)
    with work:
        yield


@contextmanager
def elsewhere(what: str, path: Path) -> Iterator[None]:
    """The same in another process, on a store of its own."""
    command = [sys.executable, "-m", "bench.beside", what, str(path)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        child.stdout.readline()
        yield
    finally:
        child.communicate()


def main(what: str, path: Path) -> None:
    """Works until the end of its input."""
    with a_writer(path) as writer, at_work(what, path, writer):
        print("at work", flush=True)
        sys.stdin.read()


def empty_index(path: Path) -> None:
    """The backfill has everything to do."""
    with closing(db.open(path)) as conn:
        prepare(conn, version=-1)
        prepare(conn)


@contextmanager
def searching(path: Path, way: RightOfWay) -> Iterator[None]:
    """As many clients as lanes, each with the next key at once."""
    over = threading.Event()
    with lanes_of(path, way) as lanes:
        searches = Searches(lanes, lambda: False, CLOCK)

        def client(number: int) -> None:
            pick = random.Random(number)
            words = COMMON.split()
            while not over.is_set():
                query = parse_query(f"{pick.choice(words)} {pick.choice(words)}")
                asker = Asker(None, None, None, 1)
                asked = Searched(query, 50, False)
                search = partial(searches.conversations, asked, asker, MACHINE)
                lanes.ask(LaneAsker(number, 0), search).result()

        clients = [threading.Thread(target=client, args=(n,)) for n in range(LANES)]
        for one in clients:
            one.start()
        try:
            yield
        finally:
            over.set()
            for one in clients:
                one.join()


@contextmanager
def indexing(path: Path, writer: StoreWriter, turn_runs: Callable[[], bool]) -> Iterator[Indexer]:
    """The search-indexer."""
    indexer = Indexer(path, writer, Feed(), CLOCK, turn_runs, print)
    indexer.start()
    try:
        yield indexer
    finally:
        indexer.stop()


@contextmanager
def lanes_of(path: Path, way: RightOfWay) -> Iterator[SearchLanes]:
    """The search lanes."""
    lanes = SearchLanes(path, way)
    lanes.start()
    try:
        yield lanes
    finally:
        lanes.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
