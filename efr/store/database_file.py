"""The database's file before SQLite opens it: made whole and private, and looked at.

SQLite takes a file of no bytes for a database with nothing in it, so what a fault of the disk cut
off would start as a fresh history. efrd never leaves such a file: a new one gets its name with its
first page. And there is a new one only where nothing is left of an old one: SQLite throws away a
log that stands beside a database which has none.

Facts: sqlite.org/fileformat2.html, "The Database Header".
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

import apsw

from efr.base.files import write_atomic
from efr.store.backups import newest_backup
from efr.store.errors import StoreCannotOpen, StoreCorrupt, StoreFull, StoreReadOnly

FULL_ERRNO: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_DENIED_ERRNO: Final = (errno.EROFS, errno.EACCES, errno.EPERM)

_SMALLEST_PAGE: Final = 512
_WITH_LOG: Final = b"\2\2"  # the versions of the format, 18 bytes in


def ready_to_write(path: Path) -> None:
    """Makes the file with mode 0600 when there is none: SQLite would use the umask's, and it gives
    its -wal and -shm files the mode of the database. Raises StoreCorrupt for a file that was cut
    off, StoreCannotOpen for one that is missing from where it was, and what keeps it from being
    written."""
    try:
        if not path.exists():
            _refuse_to_begin(path)
            write_atomic(path, _one_page(), 0o600)
        with path.open("r+b", buffering=0) as file:
            header = file.read(20)
            size = os.fstat(file.fileno()).st_size
    except OSError as exc:
        full, denied = exc.errno in FULL_ERRNO, exc.errno in _DENIED_ERRNO
        kind = StoreFull if full else StoreReadOnly if denied else StoreCannotOpen
        raise kind(path, exc.strerror or str(exc)) from exc
    if (fault := _cut_off(path, header, size)) is not None:
        raise StoreCorrupt(path, fault, newest_backup(path))
    if header[18:20] != _WITH_LOG and _has_log(path):
        log = _log_of(path)
        why = f"{log} is the log of another database; move it away; nothing was changed"
        raise StoreCannotOpen(path, why)


def _refuse_to_begin(path: Path) -> None:
    """A new database takes no place that an old one has: a link says where that is, and a log that
    there was one."""
    if path.is_symlink():
        why = f"it is a link to {os.readlink(path)}, and no file is there; nothing was changed"
        raise StoreCannotOpen(path, why)
    if _has_log(path):
        raise StoreCannotOpen(
            path,
            f"the file is missing, but its newest changes stand beside it in {_log_of(path).name}; "
            "put the file back, or move that one away for an empty history; nothing was changed",
        )


def _cut_off(path: Path, header: bytes, size: int) -> str | None:
    """What says that the end is missing. A file that misses whole pages SQLite finds itself, and
    one that is no database too."""
    if size < _SMALLEST_PAGE:
        return f"the file has {size} bytes"
    page = int.from_bytes(header[16:18], "big")
    page = 65_536 if page == 1 else page
    if page >= _SMALLEST_PAGE and size % page and not _has_log(path):
        return "the file ends inside a page"
    return None


def _has_log(path: Path) -> bool:
    """A checkpoint that was cut short is made up for by the log that it came from."""
    log = _log_of(path)
    return log.exists() and log.stat().st_size > 0


def _log_of(path: Path) -> Path:
    """SQLite keeps it beside the file that a link leads to."""
    real = path.resolve()
    return real.with_name(f"{real.name}-wal")


def _one_page() -> bytes:
    """A database with nothing in it."""
    conn = apsw.Connection(":memory:")
    try:
        conn.pragma("user_version", 1)
        conn.pragma("user_version", 0)
        return bytes(conn.serialize("main"))
    finally:
        conn.close()
