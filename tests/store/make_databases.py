"""Makes `fixtures/db/efr.v01.sqlite` … : a small store as a daemon with that schema left it.

A file is made once and never again: `python -m tests.store.make_databases` writes only those that
are missing. The log is the same in all of them, so every version must list the same conversations.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import apsw

from efr.store import db
from efr.store.append import Appender
from efr.store.batch import Committed
from efr.store.db import Connection
from efr.store.steps import STEPS, sql_of
from tests.harness.clock import FakeClock
from tests.store.histories import History
from tests.store.samples import an_id, new_database

FOLDER: Final = Path(__file__).parents[2] / "fixtures" / "db"
_OF_SQLITE: Final = ("sqlite_sequence",)


def name_of(version: int) -> str:
    """The file of a schema version."""
    return f"efr.v{version:02d}.sqlite"


def main() -> None:
    """Writes the files that are missing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    whole = _fill(FOLDER)
    try:
        for step in STEPS:
            target = FOLDER / name_of(step.number)
            if not target.exists():
                _leave(whole, target, step.number)
                print(f"made {target}")
    finally:
        whole.unlink()


def _fill(directory: Path) -> Path:
    """A store of the newest schema with a history of 60 batches."""
    path = new_database(directory)
    history, clock = History(41), FakeClock()
    conn = db.open(path)
    appender = Appender(conn, clock)
    for _ in range(60):
        (outcome,) = appender.append((history.batch(),)).outcomes
        assert isinstance(outcome, Committed), outcome
        clock.advance(60)
    conn.execute(
        "INSERT INTO receipts VALUES (?, 'prompt.send', 'done', '{}', 1, 0)", (an_id(0xF00),)
    )
    conn.execute(
        "INSERT INTO outbox (kind, payload, replay_safe, created_at) VALUES ('a','{}',1,0)"
    )
    conn.close()
    return path


def _leave(whole: Path, target: Path, version: int) -> None:
    """The tables and columns that this version had, with their rows."""
    conn = apsw.Connection(str(target))
    conn.pragma("page_size", 1024)  # keeps the files small; a store's own pages have 4,096 bytes
    for step in STEPS[:version]:
        conn.execute(sql_of(step))
    conn.execute("ATTACH ? AS whole", (str(whole),))
    for (table,) in conn.execute(
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search%'"
    ).fetchall():
        if table not in _OF_SQLITE:
            names = ", ".join(_columns(conn, str(table)))
            conn.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM whole.{table}")
    conn.execute("DETACH whole")
    conn.pragma("user_version", version)
    conn.pragma("journal_mode", "wal")
    conn.close()


def _columns(conn: Connection, table: str) -> list[str]:
    return [str(row[1]) for row in conn.execute(f"PRAGMA main.table_info({table})")]


if __name__ == "__main__":
    main()
