"""What holds of a database after any fault: no number is missing, projections are the log's sum."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from efr.store import db
from tests.harness.daemon import Daemon


def check_database(path: Path) -> None:
    """No number of the log is missing, and every receipt has its event."""
    with closing(db.open(path, read_only=True)) as conn:
        count = conn.execute("SELECT count(*) FROM events").fetchone()
        assert count == conn.execute("SELECT max(seq) FROM events").fetchone()
        lost = conn.execute(
            "SELECT count(*) FROM receipts WHERE seq IS NOT NULL"
            " AND seq NOT IN (SELECT seq FROM events)"
        ).fetchone()
        assert lost == (0,)
        assert conn.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def projections(path: Path) -> dict[str, list[Any]]:
    """The rows of every projection."""
    with closing(db.open(path, read_only=True)) as conn:
        return {
            table: conn.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            for table in ("conversations", "turns", "approvals", "shells", "compactions")
        }


def assert_sound(daemon: Daemon) -> None:
    """Starts and stops it once more, checks the database, and builds the projections anew."""
    daemon.start()
    assert daemon.stop() == 0
    check_database(daemon.roots.database)
    before = projections(daemon.roots.database)
    flags, daemon.flags = daemon.flags, ["--rebuild-projections"]
    assert daemon.run_to_end()[0] == 0
    assert projections(daemon.roots.database) == before
    daemon.flags = flags
