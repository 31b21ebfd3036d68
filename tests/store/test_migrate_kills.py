"""A kill at each step of a migration and of a rebuild; what an old store finds afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from efr.store import queries
from efr.store.migrate import migrate
from efr.store.rebuild import rebuild
from efr.store.search.state import prepare
from efr.store.steps import NEWEST
from tests.search.samples import Store, check
from tests.store.make_databases import FOLDER, name_of
from tests.store.samples import opened, projections
from tests.store.test_migrate import old_store

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("step", "count"),
    [
        ("copied", 1),
        *(("step applied", count) for count in (1, 3, 6, 8)),
        ("page replayed", 1),
        ("rebuilt", 1),
        ("rebuilt", 2),
    ],
)
def test_a_kill_at_each_step_is_made_up_for(tmp_path: Path, step: str, count: int) -> None:
    path = old_store(tmp_path, 3)
    command = [sys.executable, "-m", "tests.store.migrate_child", str(path), step, str(count)]
    assert subprocess.run(command, cwd=ROOT, timeout=50).returncode == -signal.SIGKILL
    with opened(path) as conn:
        migrate(conn)
        assert conn.pragma("user_version") == NEWEST
        assert conn.execute("PRAGMA integrity_check").get == "ok"
        rows = projections(conn)
        rebuild(conn)
        assert projections(conn) == rows
    with opened(FOLDER / name_of(NEWEST)) as conn:
        assert projections(conn) == rows
    assert [p.name for p in (tmp_path / "backups").iterdir() if "unfinished" in p.name] == []


@pytest.mark.parametrize("version", range(2, NEWEST + 1))
def test_every_older_store_lists_and_finds_its_conversations(tmp_path: Path, version: int) -> None:
    with opened(FOLDER / name_of(NEWEST)) as conn:
        listed = [(row.id, row.title) for row in queries.conversations_recent(conn, 100)]
    path = old_store(tmp_path, version)
    with opened(path) as conn:
        migrate(conn)
        prepare(conn)
        again = [(row.id, row.title) for row in queries.conversations_recent(conn, 100)]
        assert again == listed
        store = Store(path, conn)
        store.index()
        check(conn)
        named = [(one, title) for one, title in listed if title]
        assert named
        for one, title in named:
            assert one in store.ids(f'"{title}"')
