"""Faults below the store: a full disk, a read-only one, a stranger's lock, a kill, no WAL."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from efr.store import db, queries
from efr.store.append import Appender
from efr.store.batch import Committed
from efr.store.errors import StoreBusy, StoreCannotOpen, StoreCorrupt, StoreFull, StoreNotWal
from efr.store.rebuild import rebuild
from efr.wire import codec
from efr.wire import types as t
from efr.wire.errors import BadValue
from tests.harness.clock import FakeClock
from tests.store.samples import (
    CONVERSATION,
    a_receipt,
    an_id,
    append,
    appending,
    batch,
    created,
    new_database,
    opened,
    projections,
    queued,
    refused,
    said,
)

ROOT = Path(__file__).parents[2]
KILLS = int(os.environ.get("EFR_KILLS", "20"))


def has_namespaces() -> bool:
    probe = ["unshare", "-Urm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return shutil.which("unshare") is not None and subprocess.run(probe).returncode == 0


needs_namespaces = pytest.mark.skipif(
    not has_namespaces(), reason="needs user namespaces for a small disk of its own"
)


def on_a_small_disk(directory: Path, case: str) -> dict[str, Any]:
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-m", "tests.store.small_disk", directory, case],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=50,
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen


@needs_namespaces
def test_a_full_disk_fails_the_batch_and_nothing_else(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, "full") == {
        "created": "Committed",
        "full": "StoreFull",
        "again": "StoreFull",
        "big one of three": "StoreFull",
        "read": True,
        "receipt": False,
        "room again": "Committed",
        "receipt then": True,
        "gaps": False,
        "check": "ok",
    }


@needs_namespaces
def test_no_room_for_the_copy_stops_the_migration(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, "backup") == {
        "error": "BackupFailed",
        "version": 8,
        "left": [],
    }


@needs_namespaces
def test_a_start_on_a_full_disk_says_so(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, "start") == {
        "efr.sqlite": "StoreFull",
        "none.sqlite": "StoreFull",
        "daemon_id": "the disk that holds /daemon_id is full",
        "version": 5,
    }


@needs_namespaces
@pytest.mark.parametrize("case", ["migration", "rebuild"])
def test_a_full_disk_in_a_migration_or_a_rebuild_is_made_up_for(tmp_path: Path, case: str) -> None:
    assert on_a_small_disk(tmp_path, case) == {
        "error": "StoreFull",
        "whole": True,
        "then": True,
        "check": "ok",
    }


@needs_namespaces
def test_a_full_disk_leaves_the_index_where_it_was(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, "index") == {
        "full": "StoreFull",
        "docs": 0,
        "cursor": 0,
        "docs then": 21,
    }


@needs_namespaces
def test_a_full_disk_leaves_a_delete_to_the_next_start(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, "delete") == {
        "open": 1,
        "found": 0,
        "open then": 0,
        "events": 1,
    }


@needs_namespaces
def test_a_read_only_disk_is_refused_at_the_start(tmp_path: Path) -> None:
    assert on_a_small_disk(tmp_path, "read_only") == {
        "created": "Committed",
        "open": "StoreReadOnly",
    }


@needs_namespaces
def test_a_full_disk_breaks_the_recording_and_not_the_shell(tmp_path: Path) -> None:
    assert set(on_a_small_disk(tmp_path, "recording").values()) == {True}


def test_a_store_at_its_size_limit_takes_small_batches_beside_a_large_one(tmp_path: Path) -> None:
    """SQLite's own "full", which also rolls back the whole transaction of several batches."""
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        conn.pragma("max_page_count", conn.pragma("page_count") + 4)
        done = appender.append((batch(said("a")), batch(said("x" * 90_000)), batch(said("b"))))
        assert [type(one) for one in done.outcomes] == [Committed, StoreFull, Committed]
        assert [entry.seq for entry in done.entries] == [2, 3]


def test_a_strangers_lock_makes_batches_busy_and_leaves_nothing(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender), opened(tmp_path / "efr.sqlite") as stranger:
        append(appender, created())
        conn.set_busy_timeout(20)
        stranger.execute("BEGIN IMMEDIATE")
        assert isinstance(refused(appender, batch(queued())), StoreBusy)
        both = appender.append((batch(queued()), batch(said()))).outcomes
        assert [type(one) for one in both] == [StoreBusy, StoreBusy]
        assert queries.high_water(conn) == 1
        stranger.execute("ROLLBACK")
        append(appender, batch(queued()))


def test_every_connection_has_the_pragmas_and_says_so(tmp_path: Path) -> None:
    path = new_database(tmp_path)
    for read_only in (False, True):
        conn = db.open(path, read_only=read_only)
        names = (
            "journal_mode",
            "synchronous",
            "busy_timeout",
            "foreign_keys",
            "journal_size_limit",
            "temp_store",
        )
        assert [conn.pragma(name) for name in names] == ["wal", 1, 5000, 1, 64 << 20, 2]
        conn.close()


def test_readers_open_at_once_while_a_writer_holds_its_lock(tmp_path: Path) -> None:
    with opened(new_database(tmp_path)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        readers = [db.open(tmp_path / "efr.sqlite", read_only=True) for _ in range(4)]
        assert [queries.high_water(reader) for reader in readers] == [0] * 4
        for reader in readers:
            reader.close()
        writer.execute("ROLLBACK")


def test_a_file_system_without_a_write_ahead_log_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "efr.sqlite"
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    conn = apsw.Connection(str(path), flags=flags, vfs="unix-dotfile")  # has no shared memory
    try:
        with pytest.raises(StoreNotWal) as caught:
            db.require_wal(conn, path, change=True)
    finally:
        conn.close()
    assert (caught.value.path, caught.value.mode) == (path, "delete")


def files_of(folder: Path) -> dict[str, bytes]:
    """What stands in it."""
    return {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def test_a_missing_database_with_its_log_is_refused_and_the_log_stays(tmp_path: Path) -> None:
    """SQLite would throw the log away for a new database."""
    path = tmp_path / "efr.sqlite"
    with appending(tmp_path) as (_, appender):
        append(appender, created())
        log = (tmp_path / "efr.sqlite-wal").read_bytes()
        whole = path.read_bytes()
    path.unlink()
    (tmp_path / "efr.sqlite-wal").write_bytes(log)
    for _ in range(2):
        with pytest.raises(StoreCannotOpen, match=r"efr\.sqlite: .*missing.* in efr.sqlite-wal"):
            db.open(path)
        assert files_of(tmp_path) == {"efr.sqlite-wal": log}
    path.write_bytes(whole)
    with opened(path) as conn:
        assert queries.high_water(conn) == 1


def test_the_log_of_another_database_is_not_thrown_away(tmp_path: Path) -> None:
    path = new_database(tmp_path)
    apsw.Connection(str(path)).pragma("journal_mode", "delete")
    (tmp_path / "efr.sqlite-wal").write_bytes(b"x" * 5000)
    before = files_of(tmp_path)
    with pytest.raises(StoreCannotOpen, match="is the log of another database"):
        db.open(path)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("leads_to", ["gone/efr.sqlite", "efr.sqlite"])
def test_a_link_that_leads_nowhere_is_refused_and_stays(tmp_path: Path, leads_to: str) -> None:
    path = tmp_path / "efr.sqlite"
    path.symlink_to(leads_to)
    with pytest.raises(StoreCannotOpen, match=f"is a link to {leads_to}"):
        db.open(path)
    assert os.readlink(path) == leads_to
    assert [one.name for one in tmp_path.iterdir()] == ["efr.sqlite"]


def test_a_linked_database_is_used_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path = tmp_path / "efr.sqlite"
    path.symlink_to(new_database(tmp_path / "there"))
    with opened(path) as conn:
        append(Appender(conn, FakeClock()), created())
        assert (tmp_path / "there" / "efr.sqlite-wal").exists()
    with opened(path) as conn:
        assert queries.high_water(conn) == 1


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreCannotOpen):
        db.open(tmp_path / "none" / "efr.sqlite")


def test_a_damaged_page_fails_the_batch_that_hits_it_and_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The last page of the receipts is overwritten while the store is open elsewhere."""
    path = new_database(tmp_path)
    with opened(path) as conn:
        append(Appender(conn, FakeClock()), created())
        for number in range(100):
            conn.execute(
                "INSERT INTO receipts VALUES (?, 'prompt.send', 'done', ?, 1, 0)",
                (an_id(number), '"' + "x" * 500 + '"'),
            )
        page: Any = conn.execute(
            "SELECT max(pageno) FROM dbstat WHERE name = 'receipts' AND pagetype = 'leaf'"
        ).get
    data = bytearray(path.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    path.write_bytes(data)
    with opened(path) as conn:
        appender = Appender(conn, FakeClock())
        hit = refused(appender, batch(queued(), receipt=a_receipt(an_id(0xFFFF))))
        assert isinstance(hit, StoreCorrupt)
        assert "a batch of prompt_queued hit a damaged page" in caplog.text
        append(appender, batch(queued()))
        assert queries.high_water(conn) == 2


def test_a_lost_write_ahead_log_leaves_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "efr.sqlite"
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        append(appender, batch(queued()), batch(said()))
        for name in ("efr.sqlite", "efr.sqlite-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"copy-{name}")
    log = (tmp_path / "copy-efr.sqlite-wal").read_bytes()
    for cut in (0, 10, 100, len(log) // 2, len(log) - 1, len(log)):
        shutil.copy(tmp_path / "copy-efr.sqlite", path)
        (tmp_path / "efr.sqlite-wal").write_bytes(log[:cut])
        with opened(path) as again:
            assert queries.high_water(again) in (1, 3)
            before = projections(again)
            rebuild(again)
            assert projections(again) == before


def test_a_checkpoint_empties_the_log(tmp_path: Path) -> None:
    with appending(tmp_path) as (_, appender):
        append(appender, created())
        copy = tmp_path / "log"
        shutil.copy(tmp_path / "efr.sqlite-wal", copy)
    assert copy.stat().st_size > 0
    db.checkpoint(tmp_path / "efr.sqlite")
    assert not (tmp_path / "efr.sqlite-wal").exists()


def test_a_kill_at_any_statement_of_an_append_leaves_all_of_it_or_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.append_child", tmp_path],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=50,
    )
    *killed, whole = json.loads(done.stdout)
    assert whole == {"newest": 7, "rows": 5, "sound": True}
    assert len(killed) > 10
    assert all(one == {"newest": 3, "rows": 0, "sound": True} for one in killed)


@pytest.mark.timeout(600)
def test_killed_at_any_moment_what_was_answered_is_there_once(tmp_path: Path) -> None:
    """A child appends from three threads and tells each answer on a pipe; it is killed at a random
    one. Then every number it told has its event and its receipt, and nothing is there twice."""
    random = Random(4)
    path = new_database(tmp_path)
    told: dict[str, int] = {}
    for number in range(KILLS):
        told.update(_kill_one(path, random.randint(1, 400)))
        with opened(path) as conn:
            _check(conn, told)
            if number % 5 == 4:  # it takes as long as all before
                before = projections(conn)
                rebuild(conn)
                assert projections(conn) == before
    assert told


def _kill_one(path: Path, after: int) -> dict[str, int]:
    """Runs the child until it told `after` answers, kills it, and returns what it told."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.store.kill_child", path], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(after)]
    child.kill()
    lines += child.stdout.readlines()
    child.stdout.close()
    child.wait()
    whole = [line.split() for line in lines if line.endswith(b"\n")]
    return {command.decode(): int(seq) for command, seq in whole}


def _check(conn: db.Connection, told: dict[str, int]) -> None:
    stored: dict[str, int] = dict(conn.execute("SELECT command_id, seq FROM receipts").fetchall())  # type: ignore[arg-type]
    assert {command: stored.get(command) for command in told} == told
    # A batch is a prompt, a piece of text, and a receipt that carries the second's number.
    pairs = conn.execute(
        "SELECT receipts.command_id, first.payload ->> '$.command_id', first.kind, second.kind"
        " FROM receipts JOIN events AS second ON second.seq = receipts.seq"
        " JOIN events AS first ON first.seq = receipts.seq - 1"
    ).fetchall()
    assert len(pairs) == len(stored)
    assert {(a == b, c, d) for a, b, c, d in pairs} == {
        (True, "prompt_queued", "assistant_message_updated")
    }
    events = conn.execute("SELECT count(*), max(seq) FROM events").fetchall()[0]
    assert events == (1 + 2 * len(stored), 1 + 2 * len(stored))
    assert conn.execute("PRAGMA quick_check").get == "ok"


def test_the_appender_of_a_killed_store_goes_on(tmp_path: Path) -> None:
    path = new_database(tmp_path)
    _kill_one(path, 50)
    with opened(path) as conn:
        newest = queries.high_water(conn)
        (done,) = append(Appender(conn, FakeClock()), batch(said(), conversation=CONVERSATION))
        assert done.first_seq == newest + 1


def test_an_exception_that_is_its_own_cause_ends_a_read(tmp_path: Path) -> None:
    """As one is that a reader of a damaged row raises."""
    with closing(db.open(tmp_path / "efr.sqlite")) as conn:
        with pytest.raises(BadValue):
            db.read(conn, lambda: codec.decode(b'{"kind":"project","value":"x"}', t.RouteScope))
        assert not conn.in_transaction
