"""The one place that opens SQLite, and the one that translates its errors.

Every connection gets the same pragmas, read back after they were set. A connection is opened,
used and closed on one thread. A reader never sets the journal mode: it only reads it back, so it
opens at once also while a writer holds its lock.

Facts: sqlite.org/wal.html, sqlite.org/pragma.html.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

import apsw

from efr.store.backups import newest_backup
from efr.store.checkpoints import WriteConnection
from efr.store.database_file import FULL_ERRNO, ready_to_write
from efr.store.errors import (
    StoreBusy,
    StoreCannotOpen,
    StoreCorrupt,
    StoreError,
    StoreFault,
    StoreFull,
    StoreLacks,
    StoreNotWal,
    StoreReadOnly,
    StoreTooNew,
)
from efr.store.shape import foreign_in
from efr.store.steps import NEWEST

Connection: TypeAlias = apsw.Connection
T = TypeVar("T")
C = TypeVar("C", bound=apsw.Connection)

BUSY_TIMEOUT_MS: Final = 5000  # how long a stranger's lock may hold us up before `StoreBusy`
WAL_LIMIT_BYTES: Final = 64 << 20  # the log is cut back to this after a checkpoint

_PRAGMAS: Final[tuple[tuple[str, int], ...]] = (
    ("busy_timeout", BUSY_TIMEOUT_MS),
    ("synchronous", 1),  # NORMAL: with WAL a crash of the process loses nothing
    ("foreign_keys", 1),
    ("journal_size_limit", WAL_LIMIT_BYTES),
    ("temp_store", 2),  # MEMORY
)


def open(path: Path, *, read_only: bool = False) -> Connection:
    """Opens the database (and makes it, unless `read_only`), ready for use.

    Raises StoreTooNew and leaves the file alone when a newer build wrote it, StoreNotWal when its
    file system cannot hold a write-ahead log, StoreCorrupt when it is damaged, no database or
    another program's.
    """
    if not read_only:
        return open_to_write(path)
    with translated(path):
        return _set_up(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY), path)


def open_to_write(path: Path) -> WriteConnection:
    """The same, for who decides when the log is moved.

    A process opens this before its other connections, or when those are closed. To close any
    handle of a file takes away all the locks that the process has on it (POSIX), and the file is
    looked at here. Without its lock another process that reads and closes takes itself for the
    last one, and removes the log under us.
    """
    with translated(path):
        ready_to_write(path)
        return _set_up(WriteConnection(str(path), apsw.SQLITE_OPEN_READWRITE), path)


def checkpoint(path: Path) -> None:
    """Moves the write-ahead log into the database and empties it. The last step of a stop."""
    conn = open(path)
    try:
        with translated(path, conn):
            conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    finally:
        conn.close()


def transact(conn: Connection, work: Callable[[], T]) -> T:
    """Runs `work` in one immediate transaction; any exception rolls it back."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        done = work()
        conn.execute("COMMIT")
    except BaseException as exc:
        roll_back(conn, exc)
        raise
    return done


def read(conn: Connection, work: Callable[[], T]) -> T:
    """Runs `work` in one read transaction, so all it reads is of one moment."""
    conn.execute("BEGIN")
    try:
        done = work()
    except BaseException as exc:
        roll_back(conn, exc)
        raise
    roll_back(conn)
    return done


def roll_back(conn: Connection, exc: BaseException | None = None) -> None:
    """Ends the transaction without a trace; SQLite may have done it already (a full disk).

    A statement that was not read to its end outlives the rollback: it keeps its moment of the
    log, and no checkpoint gets past it. The frames of `exc` hold such statements for as long as
    somebody keeps the exception, so they are emptied. An exception can be its own cause.
    """
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        traceback.clear_frames(exc.__traceback__)
        exc = exc.__cause__ or exc.__context__
    if conn.in_transaction:
        conn.execute("ROLLBACK")


def path_of(conn: Connection) -> Path:
    """The database file of a connection."""
    return Path(conn.filename)


@contextmanager
def translated(path: Path, conn: Connection | None = None) -> Iterator[None]:
    """Turns apsw's exceptions into the store's own. `conn` tells a full disk from other I/O."""
    try:
        yield
    except apsw.Error as exc:
        raise translate(exc, path, conn) from exc


def translate(exc: apsw.Error, path: Path, conn: Connection | None = None) -> StoreError:
    """The store's own error for one of apsw's."""
    detail = str(exc)
    if isinstance(exc, apsw.CorruptError | apsw.NotADBError):
        return StoreCorrupt(path, detail, newest_backup(path))
    if isinstance(exc, apsw.IOError) and conn is not None and conn.system_errno in FULL_ERRNO:
        return StoreFull(path, detail)  # a quota, or a log that the disk has no room for
    for kind, fault in _FAULTS:
        if isinstance(exc, kind):
            return fault(path, detail)
    return StoreFault(path, detail)


_FAULTS: Final[tuple[tuple[type[apsw.Error], type[StoreFault]], ...]] = (
    (apsw.BusyError, StoreBusy),
    (apsw.LockedError, StoreBusy),
    (apsw.FullError, StoreFull),
    (apsw.ReadOnlyError, StoreReadOnly),
    (apsw.PermissionsError, StoreReadOnly),
    (apsw.CantOpenError, StoreCannotOpen),
)


def require_wal(conn: Connection, path: Path, *, change: bool) -> None:
    """Reads the journal mode back. Raises StoreNotWal when it is not (or, with `change`, cannot
    be made) a write-ahead log: on such a file system several processes would damage the file."""
    mode = str(conn.pragma("journal_mode"))
    if mode != "wal" and change:
        mode = str(conn.pragma("journal_mode", "wal"))
    if mode != "wal":
        raise StoreNotWal(path, mode)


def _set_up(conn: C, path: Path) -> C:
    """Ready for use, or closed."""
    try:
        with translated(path, conn):
            _set_pragmas(conn, path)
    except BaseException:
        conn.close()
        raise
    return conn


def _set_pragmas(conn: Connection, path: Path) -> None:
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # until we know that it is ours
    conn.set_busy_timeout(BUSY_TIMEOUT_MS)
    version = conn.pragma("user_version")
    if version > NEWEST:
        raise StoreTooNew(path, version, NEWEST)
    if not conn.execute("SELECT 1 FROM pragma_module_list WHERE name = 'fts5'").fetchall():
        raise StoreLacks(path, "FTS5")
    writes = isinstance(conn, WriteConnection)
    if writes and (fault := foreign_in(conn, version)) is not None:
        raise StoreCorrupt(path, fault, newest_backup(path))
    require_wal(conn, path, change=writes)
    for name, value in _PRAGMAS:
        conn.pragma(name, value)
        if conn.pragma(name) != value:
            raise StoreLacks(path, f"PRAGMA {name}={value}")
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
