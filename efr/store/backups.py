"""Copies of the database from before a migration: `backups/efr.sqlite.<version>`.

A copy is made by SQLite itself (VACUUM INTO), never by copying the file: a copy inside the process
would drop the file's locks, and would miss the write-ahead log. It gets its name only when it is
complete and on disk. What was deleted before is not in it; what is deleted later stays in it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from efr.base.files import make_private_dir, sync_dir

if TYPE_CHECKING:
    from efr.store.db import Connection

_UNFINISHED = ".unfinished"


def backups_of(database: Path) -> Path:
    """The directory of a database's copies."""
    return database.parent / "backups"


def newest_backup(database: Path) -> Path | None:
    """The copy with the highest schema version, or None."""
    copies = [
        (int(version), copy)
        for copy in backups_of(database).glob(f"{database.name}.*")
        if (version := copy.name.removeprefix(f"{database.name}.")).isdecimal()
    ]
    return max(copies)[1] if copies else None


def back_up(conn: Connection, database: Path, version: int) -> Path:
    """Copies the open database; returns the copy. Blocks for as long as the copy takes.

    Readers may be open. Raises OSError, or what SQLite raises; then there is no copy.
    """
    folder = make_private_dir(backups_of(database))
    drop_unfinished(database)
    copy = folder / f"{database.name}.{version}"
    unfinished = folder / f"{copy.name}{_UNFINISHED}"
    handle = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        conn.execute("VACUUM INTO ?", (str(unfinished),))
        os.fsync(handle)
        os.replace(unfinished, copy)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    sync_dir(folder)
    return copy


def drop_unfinished(database: Path) -> None:
    """Removes what a stop in the middle of a copy left."""
    for rest in backups_of(database).glob(f"{database.name}.*{_UNFINISHED}*"):
        rest.unlink()
