"""A child of a test: a store on a file system of 2 MiB that runs full and turns read-only.

Runs inside user and mount namespaces of its own (`unshare -Urm`), so it may mount. Prints one JSON
object with what it saw. argv: an empty directory, and the name of the case.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from efr.base.files import write_atomic
from efr.base.roots import find_roots
from efr.daemon.errors import start_line
from efr.store import db, queries
from efr.store.append import Appender
from efr.store.batch import Batch
from efr.store.db import Connection
from efr.store.delete_files import places_of
from efr.store.delete_snapshots import Snapshots
from efr.store.deletes import Deletes, open_deletes
from efr.store.errors import BackupFailed, StoreError
from efr.store.migrate import migrate
from efr.store.rebuild import rebuild
from efr.store.recordings import RecordingWriter
from efr.store.search.pages import read_page, write_page
from efr.store.search.state import prepare, state
from efr.store.steps import NEWEST
from tests.harness.clock import FakeClock
from tests.search.samples import Store, check
from tests.store.make_databases import FOLDER, name_of
from tests.store.samples import (
    CONVERSATION,
    a_receipt,
    an_id,
    batch,
    created,
    new_database,
    opened,
    projections,
    said,
)

BIG = "x" * 50_000


def main() -> None:
    directory, case = Path(sys.argv[1]), sys.argv[2]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", directory], check=True)
    print(json.dumps(CASES[case](directory)))


def outcome(appender: Appender, one: Batch) -> str:
    """`committed`, or the name of the error."""
    (done,) = appender.append((one,)).outcomes
    return type(done).__name__


def full(directory: Path) -> dict[str, object]:
    """A prompt fails on the full disk, reads go on, and it works when there is room again."""
    path = new_database(directory)
    ballast = directory / "ballast"
    ballast.write_bytes(bytes(800_000))
    conn = db.open(path)
    appender = Appender(conn, FakeClock())
    seen: dict[str, object] = {"created": outcome(appender, created())}
    last = "Committed"
    while last == "Committed":
        last = outcome(appender, batch(said(BIG)))
    seen["full"] = last
    command = batch(said(BIG), receipt=a_receipt(an_id(7)))
    seen["again"] = outcome(appender, command)
    together = appender.append((batch(said("a")), command, batch(said("b")))).outcomes
    seen["big one of three"] = type(together[1]).__name__
    seen["read"] = len(queries.newest_events(conn, CONVERSATION, None, 3, 1 << 20)[0]) > 0
    seen["receipt"] = queries.receipt(conn, an_id(7)) is not None
    ballast.unlink()
    seen["room again"] = outcome(appender, command)
    seen["receipt then"] = queries.receipt(conn, an_id(7)) is not None
    seen["gaps"] = gaps(conn)
    seen["check"] = conn.execute("PRAGMA integrity_check").get
    conn.close()
    return seen


def gaps(conn: Connection) -> bool:
    """Whether a number is missing."""
    return bool(conn.execute("SELECT max(seq) <> count(*) FROM events").get)


def backup(directory: Path) -> dict[str, object]:
    """No room for the copy before a migration: nothing is migrated."""
    path = directory / "efr.sqlite"
    path.write_bytes((FOLDER / name_of(8)).read_bytes())
    conn = db.open(path)
    (directory / "ballast").write_bytes(bytes(shutil.disk_usage(directory).free - 40_000))
    try:
        migrate(conn)
        error = "none"
    except BackupFailed:
        error = "BackupFailed"
    version = conn.pragma("user_version")
    conn.close()
    left = [one.name for one in (directory / "backups").iterdir()]
    return {"error": error, "version": version, "left": left}


def start(directory: Path) -> dict[str, object]:
    """No room for what SQLite needs beside the database, and for the first page of a new one."""
    path = directory / "efr.sqlite"
    path.write_bytes((FOLDER / name_of(5)).read_bytes())
    leave_little(directory / "ballast")
    seen: dict[str, object] = {}
    for name in ("efr.sqlite", "none.sqlite"):
        try:
            with opened(directory / name) as conn:
                migrate(conn)
            seen[name] = "none"
        except StoreError as exc:
            seen[name] = type(exc).__name__
        except OSError as exc:
            seen[name] = repr(exc)
    try:
        write_atomic(directory / "daemon_id", b"id")
        seen["daemon_id"] = "written"
    except OSError as exc:
        seen["daemon_id"] = start_line(exc).replace(str(directory), "")
    seen["version"] = int.from_bytes(path.read_bytes()[60:64], "big")
    return seen


def migration(directory: Path) -> dict[str, object]:
    """Room for the copy and not for the steps."""
    path = directory / "efr.sqlite"
    path.write_bytes((FOLDER / name_of(1)).read_bytes())
    ballast = directory / "ballast"
    with opened(path) as conn:
        try:
            migrate(conn, lambda step: leave_little(ballast) if step == "copied" else None)
            error = "none"
        except StoreError as exc:
            error = type(exc).__name__
    with opened(path) as conn:
        whole = conn.pragma("user_version") < NEWEST
        ballast.unlink()
        migrate(conn)
        return rebuilt(conn, error, whole)


def a_rebuild(directory: Path) -> dict[str, object]:
    """The projections are emptied and filled in one transaction: all of it or nothing."""
    path = directory / "efr.sqlite"
    path.write_bytes((FOLDER / name_of(NEWEST)).read_bytes())
    ballast = directory / "ballast"
    with opened(path) as conn:
        before = projections(conn)
        leave_little(ballast)
        try:
            rebuild(conn)
            error = "none"
        except StoreError as exc:
            error = type(exc).__name__
        whole = projections(conn) == before
        ballast.unlink()
        return rebuilt(conn, error, whole)


def leave_little(ballast: Path) -> None:
    """Takes all the room."""
    ballast.write_bytes(bytes(shutil.disk_usage(ballast.parent).free))


def rebuilt(conn: Connection, error: str, whole: bool) -> dict[str, object]:
    """What there is once there is room again."""
    before = projections(conn)
    rebuild(conn)
    then = projections(conn) == before and conn.pragma("user_version") == NEWEST
    check = conn.execute("PRAGMA integrity_check").get
    return {"error": error, "whole": whole, "then": then, "check": check}


def read_only(directory: Path) -> dict[str, object]:
    """The file system turned read-only under a running store, and before a start."""
    path = new_database(directory)
    conn = db.open(path)
    appender = Appender(conn, FakeClock())
    seen: dict[str, object] = {"created": outcome(appender, created())}
    conn.close()
    subprocess.run(["mount", "-o", "remount,ro", directory], check=True)
    try:
        db.open(path).close()
        seen["open"] = "opened"
    except StoreError as exc:
        seen["open"] = type(exc).__name__
    return seen


def recording(directory: Path) -> dict[str, object]:
    """Output goes on while its recording cannot; what was kept is whole."""
    writer = RecordingWriter(directory, an_id(1), FakeClock())
    offsets = [writer.append(b"y" * 60_000) for _ in range(50)]
    kept = writer.read_range(0, writer.size)
    whole = sum(end - begin for begin, end in kept.missing)
    seen: dict[str, object] = {
        "offsets": offsets == [n * 60_000 for n in range(50)],
        "broken": writer.broken,
        "whole chunks": len(kept.data) % 60_000 == 0 and len(kept.data) > 0,
        "adds up": len(kept.data) + whole == writer.size,
    }
    writer.close()
    return seen


def fill_up(directory: Path) -> Path:
    """Takes all the room that is left but for a few pages."""
    ballast = directory / "ballast"
    ballast.write_bytes(bytes(max(0, shutil.disk_usage(directory).free - 12_000)))
    return ballast


def index(directory: Path) -> dict[str, object]:
    """A page of the index finds no room: cursor and documents stay as they were, and it works
    when there is room again."""
    path = new_database(directory)
    with opened(path) as conn:
        prepare(conn)
        store = Store(path, conn)
        one = store.conversation("start")
        for number in range(20):
            store.answer(one, f"answer {number} " + "words of it " * 500)
        page = read_page(conn, 0)
        assert page is not None
        ballast = fill_up(directory)
        seen: dict[str, object] = {"full": failing(path, conn, lambda: write_page(conn, page))}
        seen["docs"] = len(store.docs())
        seen["cursor"] = state(conn).indexed_seq
        ballast.unlink()
        store.index()
        seen["docs then"] = len(store.docs())
        check(conn)
        return seen


def delete(directory: Path) -> dict[str, object]:
    """A delete finds no room for its jobs: nobody sees the conversation, a start goes on without
    it, and the next one finishes."""
    roots = find_roots({"EFR_HOME": str(directory)}, 0)
    roots.data.path.mkdir()
    path = new_database(roots.data.path)
    snapshots = Snapshots(roots.data.path / "snapshots", "")
    deletes = Deletes(places_of(roots, ".marker"), snapshots, FakeClock())
    with opened(path) as conn:
        prepare(conn)
        store = Store(path, conn)
        one = store.conversation("start")
        for number in range(20):
            store.answer(one, f"answer {number} " + "words of it " * 500)
        store.index()
        store.delete(one)
        conn.wal_checkpoint(mode=3)
        ballast = fill_up(directory)
        deletes.finish_open(conn)
        seen: dict[str, object] = {
            "open": len(open_deletes(conn)),
            "found": len(store.ids("words")),
        }
        ballast.unlink()
        deletes.finish_open(conn)
        seen["open then"] = len(open_deletes(conn))
        seen["events"] = conn.execute("SELECT count(*) FROM events").get
        check(conn)
        return seen


def failing(path: Path, conn: Connection, job: Callable[[], object]) -> str:
    """The name of its error."""
    try:
        with db.translated(path, conn):
            db.transact(conn, job)
    except StoreError as exc:
        return type(exc).__name__
    return "none"


CASES = {
    "index": index,
    "delete": delete,
    "full": full,
    "backup": backup,
    "start": start,
    "migration": migration,
    "rebuild": a_rebuild,
    "read_only": read_only,
    "recording": recording,
}

if __name__ == "__main__":
    main()
