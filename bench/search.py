"""The search index at 20,000 turns: size, backfill, searches, and what turns notice of them.

The history is the one of `scripts.corpus`. Each number stands beside the least work that plain
apsw does for the same answer on a connection of its own, or beside the same commits with nothing
else going on. A backfill at the daemon's pace takes two minutes; here the work is done without the
pauses, the pauses are added up by the indexer's own rule, and a tenth of the history is filled at
the real pace as a check.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from bench import beside, starting
from bench.beside import CLOCK, MACHINE, indexing, lanes_of
from bench.table import Row
from bench.writing import a_writer
from efr.daemon.recent import Asker, recent
from efr.daemon.searching import Searched, Searches
from efr.store import db
from efr.store.checkpoints import eager_checkpoints
from efr.store.db import Connection
from efr.store.rebuild import rebuild
from efr.store.search.pages import merge_step, read_page, write_page
from efr.store.search.state import open_for_search, prepare
from efr.text.query import parse_query
from efr.threads.indexer import pause_s
from efr.threads.readers import ReaderPool
from efr.threads.right_of_way import RightOfWay
from efr.threads.search_lanes import Asker as LaneAsker
from efr.wire import codec
from efr.wire import types as t
from scripts.corpus import COMMON, write

TURNS: Final = 20_000
REAL_TURNS: Final = 2_000
SEARCHES: Final = 60  # of each kind
EVENTS: Final = 100_000


def rows() -> Iterator[Row]:
    """Rows in the order of the table."""
    with TemporaryDirectory() as name:
        path = Path(name) / "efr.sqlite"
        write(path, TURNS)
        yield rebuilding(path, Path(name))
        filled = fill(path)
        yield from filling(path, Path(name), filled)
        yield from searching(path)
        yield listing(path)
        yield from starting.rows(path)
        yield from beside.rows(path, Path(name))


# The index itself.


class Filled(NamedTuple):
    """What filling the index took: seconds of each writer job, and of reading each page."""

    jobs: list[float]
    reads: list[float]


def fill(path: Path) -> Filled:
    """The indexer's work without its pauses."""
    jobs: list[float] = []
    reads: list[float] = []
    with closing(db.open(path)) as conn, closing(open_for_search(path)) as reader:
        prepare(conn)
        after = 0
        while (page := timed(reads, partial(read_page, reader, after))) is not None:
            timed(jobs, partial(in_job, conn, partial(write_page, conn, page)))
            after = page.upto
        while timed(jobs, partial(in_job, conn, partial(merge_step, conn))):
            pass
    return Filled(jobs, reads)


def timed(seconds: list[float], work: Callable[[], Any]) -> Any:
    """Its result; how long it took is added to the list."""
    began = time.perf_counter()
    result = work()
    seconds.append(time.perf_counter() - began)
    return result


def in_job(conn: Connection, job: Callable[[], bool]) -> bool:
    """As the store-writer runs it."""
    with eager_checkpoints(conn):
        return db.transact(conn, job)


def filling(path: Path, directory: Path, filled: Filled) -> Iterator[Row]:
    """Size, time, and share of the writer."""
    size = index_size(path)
    per_1000 = size / TURNS * 1000
    yield Row("index of 1,000 turns", f"{per_1000 / 1e6:.1f} MB", "of 10 MB", per_1000 / 10e6)
    work = sum(filled.jobs)
    reads = [*filled.reads[1:], 0.0]
    waits = [max(pause_s(job, False), read) for job, read in zip(filled.jobs, reads, strict=False)]
    total = work + sum(waits)
    yield Row(
        f"backfill of {TURNS:,} turns, pauses added up",
        f"{total:.0f} s",
        f"of two minutes; the writer works {work / total:.0%} of it",
        total / 120,
    )
    raw = raw_index(path, directory)
    yield Row(
        "  of it: the writer's jobs", f"{work:.1f} s", f"of raw apsw, {raw:.1f} s", work / raw
    )
    slow = percentile(filled.jobs, 99)
    yield Row("  a job, p99", ms(slow), f"of its median, {ms(statistics.median(filled.jobs))}")
    yield real_backfill(directory)


def index_size(path: Path) -> int:
    """Bytes of all its tables and indexes."""
    with closing(db.open(path, read_only=True)) as conn:
        found = conn.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE '%search_%'").get
    return int(found)


def raw_index(path: Path, directory: Path) -> float:
    """Seconds to put the same texts into tables of the same kind, in pages of 32."""
    with closing(db.open(path, read_only=True)) as conn:
        docs: Any = conn.execute("SELECT * FROM search_docs ORDER BY seq").fetchall()
        schema: Any = conn.execute(
            "SELECT sql FROM sqlite_schema WHERE name IN"
            " ('search_docs', 'search_docs_conversation', 'search_fts')"
        ).fetchall()
    with closing(db.open(directory / "raw.sqlite")) as raw:
        for (sql,) in schema:
            raw.execute(sql)
        began = time.perf_counter()
        for at in range(0, len(docs), 32):
            page = docs[at : at + 32]
            raw.execute("BEGIN IMMEDIATE")
            raw.executemany("INSERT INTO search_docs VALUES (?, ?, ?, ?)", page)
            texts = [(doc[0], doc[3]) for doc in page]
            raw.executemany("INSERT INTO search_fts (rowid, text) VALUES (?, ?)", texts)
            raw.execute("COMMIT")
        return time.perf_counter() - began


def real_backfill(directory: Path) -> Row:
    """The thread itself, at its own pace."""
    path = directory / "real.sqlite"
    write(path, REAL_TURNS, seed=2)
    with closing(db.open(path)) as conn:
        prepare(conn)
    began = time.perf_counter()
    with a_writer(path) as writer, indexing(path, writer, lambda: False) as indexer:
        indexer.wait_until_built(300)
        seconds = time.perf_counter() - began
    whole = seconds * TURNS / REAL_TURNS
    return Row(
        f"backfill of {REAL_TURNS:,} turns by the thread",
        f"{seconds:.1f} s",
        f"of a tenth of two minutes; {TURNS:,} turns at this pace: {whole:.0f} s",
        whole / 120,
    )


# Searches.


def searching(path: Path) -> Iterator[Row]:
    """As the method runs them: a lane, the rows, their bytes."""
    with (
        closing(open_for_search(path)) as raw,
        lanes_of(path, RightOfWay(CLOCK)) as lanes,
    ):
        searches = Searches(lanes, lambda: False, CLOCK)
        for name, queries in kinds_of_queries(raw).items():
            taken: list[float] = []
            least: list[float] = []
            for query in queries:
                timed(taken, partial(one_search, searches, query))
                timed(least, partial(raw_search, raw, query))
            taken, least = taken[5:], least[5:]  # the first ones fill the caches
            p50, p95 = statistics.median(taken), percentile(taken, 95)
            raw95 = percentile(least, 95)
            yield Row(
                f"search, {name}: p50 / p95",
                f"{p50 * 1000:.1f} / {ms(p95)}",
                f"limit 50 ms; of raw FTS5 ORDER BY rank, p95 {ms(raw95)}",
                p95 / raw95,
            )


def kinds_of_queries(conn: Connection) -> dict[str, list[str]]:
    """Words of a few documents, two words as somebody types them, and words of most documents."""
    pick = random.Random(5)
    conn.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, search_fts, row)")
    found: Any = conn.execute("SELECT term, doc FROM temp.words WHERE length(term) > 3").fetchall()
    rare = [term for term, doc in found if doc <= 20]
    usual = [term for term, doc in found if 100 < doc < 5000]
    some = [word for word in COMMON.split() if len(word) > 2][:20]
    count = SEARCHES + 5
    return {
        "a rare word": pick.sample(rare, count),
        "two words, the last one begun": [
            f"{pick.choice(usual)} {pick.choice(usual)[:4]}" for _ in range(count)
        ],
        "a very common word": [pick.choice(some) for _ in range(count)],
    }


def one_search(searches: Searches, query: str) -> bytes:
    """A search and its answer's bytes."""
    asked = Searched(parse_query(query), 50, False)
    asker = Asker(None, None, None, 1)
    reply = searches.lanes.ask(
        LaneAsker("bench", 0), partial(searches.conversations, asked, asker, MACHINE)
    )
    return codec.encode(reply.result())


def raw_search(conn: Connection, query: str) -> list[Any]:
    """The least: the best 50 documents and their text."""
    words = query.split()
    last = f'"{words[-1]}" *' if len(words[-1]) > 2 else f'"{words[-1]}"'
    match = " ".join([*(f'"{word}"' for word in words[:-1]), last])
    return conn.execute(
        "SELECT rowid, text FROM search_fts WHERE search_fts MATCH ? ORDER BY rank LIMIT 50",
        (match,),
    ).fetchall()


def listing(path: Path) -> Row:
    """The recent list of a project's directory, 20 rows."""
    with closing(db.open(path, read_only=True)) as raw, readers_of(path) as readers:
        route: Any = raw.execute(
            "SELECT route FROM conversations WHERE route LIKE '%project%' LIMIT 1"
        ).get
        place = _Place(codec.decode(route.encode(), t.RouteScope))
        asker = Asker(None, None, place, 20)  # type: ignore[arg-type]  # its route alone is read
        taken: list[float] = []
        least: list[float] = []
        for _ in range(300):
            timed(taken, lambda: codec.encode(readers.read(partial(recent, asker, MACHINE))))
            timed(least, partial(raw_list, raw))
    p95, raw95 = percentile(taken[20:], 95), percentile(least[20:], 95)
    return Row(
        "recent list, p95", ms(p95), f"limit 5 ms; of raw apsw, p95 {ms(raw95)}", p95 / raw95
    )


class _Place(NamedTuple):
    route: t.RouteScope


def raw_list(conn: Connection) -> list[Any]:
    """The least: the newest 20 with the count of their turns."""
    return conn.execute(
        "SELECT *, (SELECT count(*) FROM turns WHERE conversation_id = conversations.id)"
        " FROM conversations ORDER BY updated_at DESC, last_seq DESC LIMIT 20"
    ).fetchall()


# The log.


def rebuilding(path: Path, directory: Path) -> Row:
    """The projections of the first 100,000 events, beside a copy of the finished rows."""
    part = directory / "part.sqlite"
    with closing(db.open(path)) as conn:
        conn.execute("VACUUM INTO ?", (str(part),))
    with closing(db.open(part)) as conn:
        conn.execute("DROP TRIGGER events_never_go")
        conn.execute("DELETE FROM events WHERE seq > ?", (EVENTS,))
        began = time.perf_counter()
        count = rebuild(conn)
        seconds = time.perf_counter() - began
        raw = raw_rebuild(conn)
    return Row(
        f"rebuild of {count:,} events",
        f"{seconds:.2f} s",
        f"limit 3 s; of reading the log and copying the rows, {raw:.2f} s",
        seconds / raw,
    )


def raw_rebuild(conn: Connection) -> float:
    """Seconds to read every event and to write rows that are known already."""
    tables = ("conversations", "turns")
    for table in tables:
        conn.execute(f"CREATE TABLE copy_{table} AS SELECT * FROM {table}")
    began = time.perf_counter()
    conn.execute("BEGIN IMMEDIATE")
    for _ in conn.execute("SELECT seq, kind, payload FROM events ORDER BY seq"):
        pass
    for table in reversed(tables):
        conn.execute(f"DELETE FROM {table}")
    for table in tables:
        conn.execute(f"INSERT INTO {table} SELECT * FROM copy_{table}")
    conn.execute("COMMIT")
    return time.perf_counter() - began


# Small things.


@contextmanager
def readers_of(path: Path) -> Iterator[ReaderPool]:
    """The readers."""
    readers = ReaderPool(path)
    readers.start()
    try:
        yield readers
    finally:
        readers.stop()


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many of them stay below."""
    return statistics.quantiles(values, n=100)[percent - 1]


def ms(seconds: float) -> str:
    """Milliseconds in words."""
    return f"{seconds * 1000:.1f} ms"
