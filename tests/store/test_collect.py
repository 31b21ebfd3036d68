"""Which recordings go, and what is left of them."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from efr.base.clock import SystemClock
from efr.store import collect
from efr.store.collect import Segment, drop_rows, exited_ptys, plan, scan, unlink, unlink_unknown
from efr.store.db import Connection, transact
from efr.store.feed import Feed
from efr.store.recorded import read_range
from efr.store.recording_index import read_recorded, recorded_end
from efr.store.recordings import RecordingWriter
from efr.threads.collector import Collector
from efr.threads.readers import ReaderPool
from efr.threads.writer import StoreWriter
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.clock import FakeClock
from tests.store.samples import (
    an_id,
    append,
    appending,
    batch,
    created,
    new_database,
    opened,
)

ROOT = Path(__file__).parents[2]
DAY_US = 86_400 * 1_000_000
LIMIT_S = 20.0


def segment(
    pty: str, start: int, size: int = 10, closed: int | None = 0, exited: bool = True
) -> Segment:
    return Segment(pty, start, f"{pty}/{start}.rec", size, 0, closed, exited)


def named(segments: tuple[Segment, ...]) -> list[str]:
    return [f"{one.pty_id}{one.start_seq}" for one in segments]


def test_old_segments_of_exited_shells_go() -> None:
    rows = [
        segment("a", 0, closed=0),
        segment("a", 10, closed=5),
        segment("b", 0, closed=0, exited=False),
        segment("c", 0, closed=None),
        segment("d", 0, closed=10),
    ]
    decided = plan(rows, now_us=15, age_limit_us=10)
    assert named(decided.gone) == ["a0", "a10"]
    assert named(decided.ends) == ["a10"]
    assert plan(rows, now_us=9, age_limit_us=10).gone == ()


def test_the_oldest_go_when_all_are_too_large() -> None:
    rows = [
        segment("a", 0, 10, closed=3),
        segment("a", 10, 10, closed=6),
        segment("b", 0, 10, closed=1),
        segment("b", 10, 10, closed=9),
        segment("c", 0, 50, closed=0, exited=False),  # counts, and stays
    ]
    assert named(plan(rows, 10, 100, size_limit=90).gone) == []
    assert named(plan(rows, 10, 100, size_limit=89).gone) == ["b0"]
    assert named(plan(rows, 10, 100, size_limit=75).gone) == ["a0", "b0"]
    everything = plan(rows, 10, 100, size_limit=0)
    assert named(everything.gone) == ["a0", "a10", "b0", "b10"]
    assert named(everything.ends) == ["a10", "b10"]


def test_a_shell_that_floods_its_terminal_keeps_the_newest() -> None:
    size = collect.RUNNING_KEPT // 8
    rows = [
        segment("a", 0, 10, closed=5),
        *(segment("b", n * size, size, closed=n, exited=False) for n in range(20)),
        segment("b", 20 * size, 0, closed=None, exited=False),
    ]
    total = 20 * size + 10
    assert plan(rows, 1 << 60, 1 << 61, size_limit=total).gone == ()
    assert named(plan(rows, 9, 100, size_limit=total - size - 1).gone) == ["b0", f"b{size}"]
    everything = plan(rows, 9, 100, size_limit=0)
    assert named(everything.gone) == ["a0", *(f"b{n * size}" for n in range(12))]
    assert named(everything.ends) == ["a0"]
    aged = plan(rows, 1 << 60, 1, size_limit=1 << 60)
    assert named(aged.gone) == ["a0"], "age is for shells that are gone"


def test_a_clock_that_went_back_takes_no_later_segment_first() -> None:
    rows = [segment("a", 0, closed=9), segment("a", 10, closed=2), segment("a", 20, closed=9)]
    assert named(plan(rows, now_us=12, age_limit_us=10).gone) == []
    assert named(plan(rows, 0, 100, size_limit=25).gone) == ["a0"]


def test_the_row_of_an_end_is_no_file() -> None:
    end = Segment("a", 20, None, 0, 0, 0, True)
    assert plan([end], now_us=100, age_limit_us=10).gone == ()


def test_the_scan_needs_no_index_of_its_own(tmp_path: Path) -> None:
    with opened(new_database(tmp_path)) as conn:
        steps = [row[3] for row in conn.execute(f"EXPLAIN QUERY PLAN {collect.SCAN}")]
    assert steps[0] == "SCAN segment"
    assert steps[1].startswith("SEARCH shells USING INDEX sqlite_autoindex_shells_1")
    assert len(steps) == 2  # no sort


class Recorded:
    """A store with shells and their recordings."""

    def __init__(self, directory: Path, conn: Connection) -> None:
        self.directory = directory / "recordings"
        self.conn = conn
        self.clock = FakeClock()

    def record(self, pty: str, *sizes: int, closed: bool = True) -> None:
        """One segment for each size."""
        start = 0
        for size in sizes:
            folder = self.directory / pty
            folder.mkdir(parents=True, exist_ok=True)
            writer = RecordingWriter(folder.parent / "new", pty, self.clock)
            writer.append(b"x" * size)
            writer.close()
            (folder.parent / "new" / pty / "0.rec").rename(folder / f"{start}.rec")
            now_us = self.clock.now_us()
            self.conn.execute(
                "INSERT INTO recording_segments VALUES (?, ?, ?, ?, ?, ?)",
                (pty, start, f"{pty}/{start}.rec", size, now_us, now_us if closed else None),
            )
            start += size

    def files(self) -> list[str]:
        return sorted(
            str(path.relative_to(self.directory)) for path in self.directory.rglob("*.rec")
        )

    def rows(self) -> list[tuple[object, ...]]:
        return self.conn.execute(
            "SELECT pty_id, start_seq, path, bytes FROM recording_segments"
        ).fetchall()


PTYS = [an_id(0x1000 + n) for n in range(4)]


@pytest.fixture(name="recorded")
def _recorded(tmp_path: Path) -> Iterator[Recorded]:
    """Two shells that exited, one that runs, and a store."""
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        for pty in PTYS[:3]:
            append(appender, batch(ev.ShellStarted(pty_id=pty, cwd="/")))
        for pty in PTYS[:2]:
            append(appender, batch(ev.ShellExited(pty_id=pty)))
        recorded = Recorded(tmp_path, conn)
        recorded.record(PTYS[0], 100, 50)
        recorded.record(PTYS[1], 70)
        recorded.record(PTYS[2], 30)
        yield recorded


def collect_now(recorded: Recorded, now_us: int, size_limit: int = 1 << 40) -> None:
    """A pass in place."""
    decided = plan(scan(recorded.conn), now_us, collect.AGE_LIMIT_US, size_limit)
    transact(recorded.conn, lambda: drop_rows(recorded.conn, decided))
    unlink(recorded.directory, decided.gone)


def test_a_whole_recording_leaves_the_offset_behind_it(recorded: Recorded) -> None:
    later = recorded.clock.now_us() + 31 * DAY_US
    collect_now(recorded, later)
    assert recorded.rows() == [
        (PTYS[0], 150, None, 0),
        (PTYS[1], 70, None, 0),
        (PTYS[2], 0, f"{PTYS[2]}/0.rec", 30),
    ]
    assert recorded.files() == [f"{PTYS[2]}/0.rec"]
    assert not (recorded.directory / PTYS[0]).exists()
    assert recorded_end(recorded.conn, PTYS[0]) == 150
    read = read_recorded(recorded.conn, recorded.directory, PTYS[0], 0, 150)
    assert (read.start, read.end, read.data) == (150, 150, b"")
    collect_now(recorded, later)
    assert len(recorded.rows()) == 3


def test_a_collected_start_is_reported(recorded: Recorded) -> None:
    recorded.conn.execute(
        "UPDATE recording_segments SET closed_at = closed_at - 1 WHERE bytes = 100"
    )
    collect_now(recorded, recorded.clock.now_us(), size_limit=200)
    assert recorded.files()[0] == f"{PTYS[0]}/100.rec"
    read = read_recorded(recorded.conn, recorded.directory, PTYS[0], 0, 150)
    assert (read.start, read.end, len(read.data), read.missing) == (100, 150, 50, ())


def test_a_read_while_segments_go_reports_the_later_start(recorded: Recorded) -> None:
    """The first look lists both segments, and then one is gone."""
    folder = recorded.directory / PTYS[0]
    first = folder / "0.rec"
    first.unlink()
    first.symlink_to(folder / "missing.rec")  # listed, and not there when it is opened
    with pytest.raises(FileNotFoundError):
        read_range(folder, 0, 150)
    first.unlink()
    assert read_range(folder, 0, 150).start == 100


def test_rows_that_a_delete_took_stay_away(recorded: Recorded) -> None:
    decided = plan(scan(recorded.conn), recorded.clock.now_us() + 31 * DAY_US)
    recorded.conn.execute("DELETE FROM recording_segments")
    transact(recorded.conn, lambda: drop_rows(recorded.conn, decided))
    assert recorded.rows() == []


def test_files_without_a_row_go_when_their_shell_is_gone(recorded: Recorded) -> None:
    folder = recorded.directory
    (folder / PTYS[0] / "150.rec").write_bytes(b"rest")
    (folder / PTYS[2] / "30.rec").write_bytes(b"of a running shell: its row is on its way")
    starting = folder / PTYS[3]
    starting.mkdir()
    (starting / "0.rec").write_bytes(b"of a shell that nobody recorded yet")
    now_us = SystemClock().now_us()
    known = scan(recorded.conn)
    assert unlink_unknown(folder, known, exited_ptys(recorded.conn), now_us - DAY_US) == 1
    assert f"{PTYS[0]}/150.rec" not in recorded.files()
    assert len(recorded.files()) == 6
    os.utime(starting / "0.rec", (0, 0))
    assert unlink_unknown(folder, known, exited_ptys(recorded.conn), now_us - DAY_US) == 1
    assert not starting.exists()


def test_the_files_of_a_deleted_conversation_belong_to_nobody(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(ev.ShellStarted(pty_id=PTYS[0], cwd="/")))
        append(appender, batch(ev.ConversationDeleted(t.Origin.CLI)))
        assert exited_ptys(conn) == {PTYS[0]}


def test_links_are_left_alone(recorded: Recorded, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "0.rec").write_bytes(b"precious")
    (recorded.directory / PTYS[3]).symlink_to(outside)
    (recorded.directory / PTYS[0] / "150.rec").symlink_to(outside / "0.rec")
    unlink_unknown(recorded.directory, scan(recorded.conn), {PTYS[0], PTYS[3]}, 1 << 60)
    assert (outside / "0.rec").read_bytes() == b"precious"
    assert (recorded.directory / PTYS[0] / "150.rec").is_symlink()


def test_a_file_that_cannot_go_is_named_and_the_rest_goes(
    recorded: Recorded, caplog: pytest.LogCaptureFixture
) -> None:
    folder = recorded.directory / PTYS[1]
    (folder / "0.rec").unlink()
    (folder / "0.rec").mkdir()  # not a file: nothing of ours
    collect_now(recorded, recorded.clock.now_us() + 31 * DAY_US)
    assert (folder / "0.rec").is_dir()
    assert recorded.files() == [f"{PTYS[1]}/0.rec", f"{PTYS[2]}/0.rec"]


# The thread.


@contextmanager
def collecting(
    path: Path, directory: Path, reached: Callable[[str], None] = lambda step: None, **limits: int
) -> Iterator[Collector]:
    """The daemon's own collector over a database; not started."""
    clock, feed = SystemClock(), Feed()
    readers, writer = ReaderPool(path), StoreWriter(path, clock, feed, pytest.fail)  # type: ignore[arg-type]
    readers.start()
    writer.start()
    collector = Collector(directory, readers, writer, clock, reached=reached, **limits)
    try:
        yield collector
    finally:
        collector.stop()
        writer.stop()
        readers.stop()


def test_the_thread_looks_at_its_start_and_when_it_is_woken(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        for pty in PTYS[:2]:
            append(appender, batch(ev.ShellStarted(pty_id=pty, cwd="/")))
            append(appender, batch(ev.ShellExited(pty_id=pty)))
        recorded = Recorded(tmp_path, conn)
        recorded.record(PTYS[0], 100)
        done: queue.SimpleQueue[str] = queue.SimpleQueue()
        path = tmp_path / "efr.sqlite"
        with collecting(path, recorded.directory, done.put, age_limit_us=0) as collector:
            collector.start()
            steps = ["rows dropped", "files unlinked", "passed"]
            assert [done.get(timeout=LIMIT_S) for _ in steps] == steps
            recorded.record(PTYS[1], 70)
            collector.wake()
            assert [done.get(timeout=LIMIT_S) for _ in steps] == steps
        assert recorded.files() == []


@pytest.mark.parametrize("step", ["rows dropped", "files unlinked"])
def test_a_kill_between_rows_and_files_is_made_up_for(tmp_path: Path, step: str) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(ev.ShellStarted(pty_id=PTYS[0], cwd="/")))
        append(appender, batch(ev.ShellExited(pty_id=PTYS[0])))
        recorded = Recorded(tmp_path, conn)
        recorded.record(PTYS[0], 100, 50)
        path = tmp_path / "efr.sqlite"
        command = [sys.executable, "-m", "tests.store.collect_child", str(path), step]
        done = subprocess.run(command, cwd=ROOT, timeout=50)
        assert done.returncode == -signal.SIGKILL
        assert recorded.rows() == [(PTYS[0], 150, None, 0)]
        left = ["0.rec", "100.rec"] if step == "rows dropped" else []
        assert recorded.files() == [f"{PTYS[0]}/{name}" for name in left]
        with collecting(path, recorded.directory, age_limit_us=0) as collector:
            collector.collect()
        assert recorded.files() == []
        assert recorded.rows() == [(PTYS[0], 150, None, 0)]
        assert not (recorded.directory / PTYS[0]).exists()


class BrokenReaders:
    """A store that cannot be read."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def read(self, fn: object) -> None:
        self.asked.set()
        raise OSError("no such disk")


def test_a_pass_that_fails_costs_a_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    readers = BrokenReaders()
    collector = Collector(tmp_path, readers, None, SystemClock())  # type: ignore[arg-type]
    collector.start()
    assert readers.asked.wait(LIMIT_S)
    collector.stop()
    lines = [record.message for record in caplog.records]
    assert lines == ["the recordings were not looked through: no such disk"]


def test_nothing_recorded_is_nothing_to_do(tmp_path: Path) -> None:
    with collecting(new_database(tmp_path), tmp_path / "recordings") as collector:
        collector.collect()
    assert not (tmp_path / "recordings").exists()
