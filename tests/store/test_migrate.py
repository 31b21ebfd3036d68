"""Migrations: every older schema comes up to date, with a copy from before, or nothing changes."""

from __future__ import annotations

import hashlib
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from efr.store import db, queries
from efr.store.backups import back_up, newest_backup
from efr.store.errors import BackupFailed, StoreCorrupt, StoreTooNew
from efr.store.migrate import migrate
from efr.store.projections import TABLES
from efr.store.rebuild import rebuild
from efr.store.steps import NEWEST, STEPS, sql_of
from tests.store.make_databases import FOLDER, name_of
from tests.store.samples import (
    append,
    appending,
    batch,
    created,
    opened,
    projections,
    queued,
    said,
)

ROOT = Path(__file__).parents[2]


def old_store(directory: Path, version: int) -> Path:
    path = directory / "efr.sqlite"
    shutil.copy(FOLDER / name_of(version), path)
    path.chmod(0o600)
    return path


def schema(conn: db.Connection) -> list[tuple[object, ...]]:
    return conn.execute(
        "SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
    ).fetchall()


def test_the_folder_holds_the_steps_and_nothing_else() -> None:
    assert sorted(path.name for path in (ROOT / "sql").iterdir()) == [s.file_name for s in STEPS]
    assert [step.number for step in STEPS] == list(range(1, NEWEST + 1))


# A shipped step is never edited. Whoever adds one adds its line.
SHIPPED = """
0001_events.sql b880e5f6b8bcbc0263c49fe6a11a89e8fbaa7ec4f4ffbcfa6cb1659e33ac17be
0002_conversations.sql 5b6b5584047c958c6cb66fe60fc8311aced212dbc73f439d16b3d4757f06b8d8
0003_receipts_outbox.sql 133cca2eef57dafb9c92788eb75620ff2c84a00075659a3a6b1f9f35019c321d
0004_shells_recordings.sql 1961d4bbe8b556e8a2fa10afac3cf56f1fa8c92d5db4a10fecce61efeb35daa9
0005_turn_messages.sql 7bae7e8f538cfa89237c2d3ff18d4786780a0b9001ca977641391456ff071e55
0006_compactions.sql 098b8c9395554cb631b26cc8b38966443afc0a7f5bf7c7dba1692100c96c85e3
0007_jobs.sql 9f76fe5c01df2efa0fe3dbd168933a14cdf4b4826833f992f31048a817f69ebc
0008_routes.sql 8774847dcf712e9ac438a34f9b0059329b1d34e770d0d37c77d818b01d6789cc
0009_search.sql 0ccd3afec52064d1e363d6bf7e639cd0ae9fab5c40ebeb07b391a373753f6f39
0010_deletes.sql c8ee306833e9fcbd6897a01216cff9a9372ba35ca5df86ed8d839deae50d13ea
0011_devices.sql bf31597e4fc4d1a3cdc78e17ea63c53adff41c7834ec0f56403c4390df6b4d30
0012_tombstones.sql 82ef2acc31a9830c5e8f3b8f17fe79c02161e8f3fa4a2c3eb54efdb063b931db
"""


def test_no_shipped_step_was_edited() -> None:
    found = {step.file_name: hashlib.sha256(sql_of(step).encode()).hexdigest() for step in STEPS}
    shipped = dict(line.split() for line in SHIPPED.strip().splitlines())
    assert found == shipped


def test_a_fresh_store_has_every_table_strict_and_no_copy(tmp_path: Path) -> None:
    path = tmp_path / "efr.sqlite"
    with opened(path) as conn:
        migrate(conn)
        assert conn.pragma("user_version") == NEWEST
        loose = conn.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
            " AND strict = 0 AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
    assert loose == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not (tmp_path / "backups").exists()


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_every_older_store_comes_up_to_date(tmp_path: Path, version: int) -> None:
    with opened(tmp_path / "fresh.sqlite") as conn:
        migrate(conn)
        fresh = schema(conn)
    with opened(FOLDER / name_of(NEWEST)) as conn:
        rows = projections(conn)
    path = old_store(tmp_path, version)
    before = path.read_bytes()

    with opened(path) as conn:
        migrate(conn)
        assert schema(conn) == fresh
        assert conn.pragma("user_version") == NEWEST
        assert projections(conn) == rows
        assert conn.execute("PRAGMA integrity_check").get == "ok"
        assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
        rebuild(conn)
        assert projections(conn) == rows

    copy = tmp_path / "backups" / f"efr.sqlite.{version}"
    assert newest_backup(path) == copy
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    assert _dump(copy) == _dump_bytes(before, tmp_path)


def test_another_sqlite_finds_every_store_whole(tmp_path: Path) -> None:
    """The interpreter's own, which is older: people look at their data with what they have."""
    for version in range(1, NEWEST + 1):
        with closing(sqlite3.connect(old_store(tmp_path, version))) as conn:
            assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)], version


def _dump(path: Path) -> list[tuple[object, ...]]:
    conn = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        events = conn.execute("SELECT * FROM events ORDER BY seq").fetchall()
        return [*schema(conn), *events, (conn.pragma("user_version"),)]
    finally:
        conn.close()


def _dump_bytes(data: bytes, directory: Path) -> list[tuple[object, ...]]:
    path = directory / "before.sqlite"
    path.write_bytes(data)
    return _dump(path)


def test_a_second_start_makes_no_copy_and_rebuilds_nothing(tmp_path: Path) -> None:
    path = old_store(tmp_path, 8)
    with opened(path) as conn:
        migrate(conn)
        conn.execute("UPDATE conversations SET title = 'mark'")
    (tmp_path / "backups" / "efr.sqlite.8").unlink()
    with opened(path) as conn:
        migrate(conn)
        assert conn.execute("SELECT DISTINCT title FROM conversations").fetchall() == [("mark",)]
    assert list((tmp_path / "backups").iterdir()) == []


def test_steps_without_the_flag_rebuild_nothing(tmp_path: Path) -> None:
    path = old_store(tmp_path, 8)
    with opened(path) as conn:
        conn.execute("UPDATE conversations SET title = 'mark'")
        migrate(conn)
        assert conn.execute("SELECT DISTINCT title FROM conversations").fetchall() == [("mark",)]


def test_a_stop_between_the_steps_and_the_rebuild_is_made_up_for(tmp_path: Path) -> None:
    path = old_store(tmp_path, 1)
    with opened(path) as conn:
        for step in STEPS[1:]:
            conn.execute(sql_of(step))
        conn.execute("CREATE TABLE projections_stale (since INTEGER) STRICT")
        conn.pragma("user_version", NEWEST)
    with opened(path) as conn:
        assert queries.conversations_page(conn, None, 10) == []
        migrate(conn)
        assert queries.conversations_page(conn, None, 10) != []
        assert [row[1] for row in schema(conn) if row[1] == "projections_stale"] == []


def test_a_step_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    path = old_store(tmp_path, 8)
    with opened(path) as conn:
        conn.execute("CREATE TABLE search_titles (x)")  # in the way of step 9
        with pytest.raises(Exception, match="already exists"):
            migrate(conn)
        assert conn.pragma("user_version") == 8
        assert not conn.in_transaction
        assert "search_docs" not in [row[1] for row in schema(conn)]


def test_a_store_of_a_newer_build_is_refused_and_not_touched(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()))
        conn.pragma("user_version", 99)
    path = tmp_path / "efr.sqlite"
    before = path.read_bytes()

    with pytest.raises(StoreTooNew) as caught:
        db.open(path)

    assert (caught.value.path, caught.value.version, caught.value.newest) == (path, 99, NEWEST)
    assert path.read_bytes() == before


def test_a_newer_store_with_a_full_log_beside_it_is_not_checkpointed(tmp_path: Path) -> None:
    """A process that was killed left its write-ahead log: opening to look must not move it."""
    path = tmp_path / "efr.sqlite"
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        conn.pragma("user_version", 99)
        for name in ("efr.sqlite", "efr.sqlite-wal"):
            shutil.copy(tmp_path / name, tmp_path / f"copy-{name}")
    (tmp_path / "copy-efr.sqlite-wal").rename(tmp_path / "efr.sqlite-wal")
    (tmp_path / "copy-efr.sqlite").rename(path)
    before = path.read_bytes(), (tmp_path / "efr.sqlite-wal").read_bytes()

    with pytest.raises(StoreTooNew):
        db.open(path)

    assert (path.read_bytes(), (tmp_path / "efr.sqlite-wal").read_bytes()) == before


@pytest.mark.parametrize("data", [b"not a database at all" * 100, b"\x00" * 8192])
def test_garbage_is_refused_and_the_newest_copy_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "efr.sqlite"
    path.write_bytes(data)
    (tmp_path / "backups").mkdir()
    for version in (9, 10):
        (tmp_path / "backups" / f"efr.sqlite.{version}").touch()

    with pytest.raises(StoreCorrupt) as caught:
        db.open(path)

    assert caught.value.backup == tmp_path / "backups" / "efr.sqlite.10"
    assert caught.value.path == path
    assert path.read_bytes() == data


CUT_OR_REPLACED: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda data: b"",
    "a byte": lambda data: data[:1],
    "the header": lambda data: data[:100],
    "the first page": lambda data: data[:1024],
    "half": lambda data: data[: len(data) // 2],
    "all but a page": lambda data: data[:-1024],
    "all but a byte": lambda data: data[:-1],
    "another beginning": lambda data: b"x" * 16 + data[16:],
    "another header": lambda data: bytes(100) + data[100:],
    "another first page": lambda data: bytes(1024) + data[1024:],
    "another page size": lambda data: data[:16] + b"\x10\x00" + data[18:],
    "another format": lambda data: data[:18] + b"\x09\x09" + data[20:],
    "no version": lambda data: data[:60] + bytes(4) + data[64:],
}


@pytest.mark.parametrize("left", CUT_OR_REPLACED)
def test_a_file_that_is_cut_off_or_has_another_header_is_refused(tmp_path: Path, left: str) -> None:
    """Most of all it is never taken for a new one."""
    path = old_store(tmp_path, NEWEST)
    data = CUT_OR_REPLACED[left](path.read_bytes())
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt), opened(path) as conn:
        migrate(conn)
    assert path.read_bytes() == data


@pytest.mark.parametrize("log", ["delete", "wal"])
@pytest.mark.parametrize(
    ("version", "why"),
    [
        (0, "it has tables and no schema version"),
        (3, r"it names schema 3 and has no events\.conversation_id"),
        (NEWEST, rf"it names schema {NEWEST} and has no events\.conversation_id"),
        (-1, "its schema version is -1"),
    ],
)
def test_the_database_of_another_program_is_refused_and_not_touched(
    tmp_path: Path, version: int, why: str, log: str
) -> None:
    path = tmp_path / "efr.sqlite"
    conn = apsw.Connection(str(path))
    conn.pragma("journal_mode", log)
    conn.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, what TEXT)")
    conn.execute("INSERT INTO events VALUES (1, 'a game')")
    conn.pragma("user_version", version)
    conn.close()
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match=why), opened(path) as conn:
        migrate(conn)
    assert path.read_bytes() == before
    assert not (tmp_path / "backups").exists()


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_what_a_store_has_beyond_its_version_is_no_fault(tmp_path: Path, version: int) -> None:
    path = old_store(tmp_path, version)
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("CREATE TABLE mine (x); ALTER TABLE events ADD COLUMN mine TEXT")
    with opened(path) as conn:
        assert conn.pragma("user_version") == version
    with closing(apsw.Connection(str(path))) as conn:
        conn.execute("DROP TABLE events")
    with pytest.raises(StoreCorrupt, match=f"names schema {version} and has no events"):
        db.open(path)


def test_a_checkpoint_that_was_cut_short_is_made_up_for_by_its_log(tmp_path: Path) -> None:
    path = tmp_path / "efr.sqlite"
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(*(said("x" * 3000) for _ in range(9))))
        log = (tmp_path / "efr.sqlite-wal").read_bytes()
        conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    path.write_bytes(path.read_bytes()[:-5000])
    (tmp_path / "efr.sqlite-wal").write_bytes(log)
    with opened(path) as conn:
        assert queries.high_water(conn) == 10
        assert conn.execute("PRAGMA integrity_check").get == "ok"


def test_a_new_store_gets_its_name_with_its_first_page(tmp_path: Path) -> None:
    path = tmp_path / "efr.sqlite"
    with opened(path):
        assert path.stat().st_size >= 4096
        assert not list(tmp_path.glob(".*"))


def test_a_damaged_page_is_found_before_anything_is_written(tmp_path: Path) -> None:
    path = old_store(tmp_path, 8)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x00" * (len(data) - 4096)
    path.write_bytes(data)

    with pytest.raises(StoreCorrupt), opened(path) as conn:
        migrate(conn)

    assert path.read_bytes() == data


def test_a_copy_can_be_made_while_a_reader_is_open(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued()))
        reader = db.open(tmp_path / "efr.sqlite", read_only=True)
        reader.execute("BEGIN")
        assert queries.high_water(reader) == 2
        append(appender, batch(queued("0198f000-0000-7000-8000-00000000ffff")))
        copy = back_up(conn, tmp_path / "efr.sqlite", 11)
        assert queries.high_water(reader) == 2
        reader.execute("ROLLBACK")
        reader.close()
        assert conn.execute("PRAGMA integrity_check").get == "ok"
    with opened(copy) as conn:
        assert conn.execute("PRAGMA integrity_check").get == "ok"
        assert queries.high_water(conn) == 3


def test_what_a_stopped_copy_left_goes_and_never_gets_the_name(tmp_path: Path) -> None:
    path = old_store(tmp_path, 8)
    (tmp_path / "backups").mkdir()
    rest = tmp_path / "backups" / "efr.sqlite.8.unfinished"
    rest.write_bytes(b"half")
    assert newest_backup(path) is None
    with opened(path) as conn:
        migrate(conn)
    assert [p.name for p in (tmp_path / "backups").iterdir()] == ["efr.sqlite.8"]


def test_a_copy_that_cannot_be_made_stops_the_migration(tmp_path: Path) -> None:
    path = old_store(tmp_path, 8)
    (tmp_path / "backups").write_text("a file in the way")
    with opened(path) as conn:
        with pytest.raises(BackupFailed):
            migrate(conn)
        assert conn.pragma("user_version") == 8


_MIGRATE = """
import sys
from pathlib import Path
from efr.store import db
from efr.store.migrate import migrate
print("ready", flush=True)
sys.stdin.readline()
conn = db.open(Path(sys.argv[1]))
migrate(conn)
conn.close()
"""


@pytest.mark.parametrize("wait_ms", [0, 2, 5, 10, 20, 40])
def test_a_kill_at_any_moment_of_a_migration_is_made_up_for(tmp_path: Path, wait_ms: int) -> None:
    path = old_store(tmp_path, 3)
    child = subprocess.Popen(
        [sys.executable, "-c", _MIGRATE, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    child.stdin.write(b"go\n")
    child.stdin.flush()
    threading.Event().wait(wait_ms / 1000)
    child.send_signal(signal.SIGKILL)
    child.communicate()

    with opened(path) as conn:
        migrate(conn)
        assert conn.pragma("user_version") == NEWEST
        before = projections(conn)
        rebuild(conn)
        assert projections(conn) == before
        assert sum(len(before[table]) for table in TABLES) > 0
    assert [p.name for p in (tmp_path / "backups").iterdir() if "unfinished" in p.name] == []
