"""Brings a database to the newest schema: backup, steps, and a fresh projection when one asks.

Runs at the start, on the thread and connection that the caller opened, before any other thread
uses the database. Each step is one transaction that also sets `user_version`, so a stop leaves a
whole number of steps. A step that changes a projection leaves the table `projections_stale`
behind; the rebuild removes it in its own transaction, so a stop between the two is made up for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from efr.store import db
from efr.store.backups import back_up, drop_unfinished
from efr.store.db import Connection
from efr.store.errors import BackupFailed, StoreFull
from efr.store.rebuild import rebuild_if_stale
from efr.store.steps import NEWEST, STEPS, Step, sql_of

log = logging.getLogger("efr.store")


def migrate(conn: Connection, reached: Callable[[str], None] = lambda step: None) -> None:
    """Applies every pending step. A database that has a schema is copied before the first one.

    `reached` is told what was done; it is for tests that stop the process there. Raises
    BackupFailed (nothing was changed), StoreFull, StoreCorrupt and other faults.
    """
    path = db.path_of(conn)
    with db.translated(path, conn):
        version = conn.pragma("user_version")
        drop_unfinished(path)
        if 0 < version < NEWEST:
            _back_up(conn, version)
            reached("copied")
        for step in STEPS[version:]:
            _apply(conn, step)
            reached("step applied")
        rebuild_if_stale(conn, reached)


def _back_up(conn: Connection, version: int) -> None:
    path = db.path_of(conn)
    try:
        with db.translated(path, conn):
            copy = back_up(conn, path, version)
    except (OSError, StoreFull) as exc:
        raise BackupFailed(path, f"no copy could be made before the migration: {exc}") from exc
    log.info("copied the database to %s before its migration from schema %d", copy, version)


def _apply(conn: Connection, step: Step) -> None:
    def work() -> None:
        conn.execute(sql_of(step))
        if step.projections:
            conn.execute("CREATE TABLE IF NOT EXISTS projections_stale (since INTEGER) STRICT")
        conn.pragma("user_version", step.number)

    db.transact(conn, work)
