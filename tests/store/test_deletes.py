"""A delete in its steps: what is gone when, what stays, what a kill leaves for the next start."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

import apsw
import pytest

from efr.base.clock import SystemClock
from efr.base.roots import Roots, find_roots
from efr.store import db, deletes, receipts
from efr.store.append import Appender
from efr.store.batch import Batch, NewEvent, NewOutbox, NewReceipt, TurnMessage
from efr.store.db import Connection, transact, translated
from efr.store.delete_files import places_of
from efr.store.delete_snapshots import Snapshots
from efr.store.deletes import Deletes, open_delete, open_deletes
from efr.store.errors import DeletedConversation
from efr.store.migrate import migrate
from efr.store.rebuild import rebuild
from efr.store.search.state import prepare
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.clock import FakeClock
from tests.search.samples import Store, check
from tests.store.samples import (
    CONVERSATION,
    OTHER,
    PTY,
    a_receipt,
    an_id,
    append,
    opened,
    refused,
    said,
)
from tests.store.test_delete_snapshots import a_store as git_store

ROOT = Path(__file__).parents[2]
MARKER = ".efr-conversation"
WORD = "zanzibar"  # planted in everything that belongs to the conversation
UNDO = an_id(0x2000)
T = TypeVar("T")


def roots_of(home: Path) -> Roots:
    return find_roots({"EFR_HOME": str(home)}, 0)


def new_home(tmp_path: Path) -> Roots:
    roots = roots_of(tmp_path / "efr")
    roots.database.parent.mkdir(parents=True)
    with closing(db.open(roots.database)) as conn:
        migrate(conn)
        prepare(conn)
    return roots


def put(path: Path, text: str = WORD) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def plant(roots: Roots, conn: Connection, events: int = 20) -> None:
    """A conversation with a marker word in each of its parts, another one beside it."""
    store = Store(roots.database, conn)
    appender = Appender(conn, FakeClock())
    turn = an_id(0x10)

    def add(conversation: str, *parts: ev.Event, **rest: Any) -> None:
        append(appender, Batch(tuple(NewEvent(conversation, one) for one in parts), **rest))

    for conversation, word in ((CONVERSATION, WORD), (OTHER, "other")):
        mine = turn if conversation == CONVERSATION else an_id(0x11)
        add(conversation, ev.ConversationCreated(t.Origin.CLI))
        prompt = ev.PromptQueued(
            turn_id=mine, command_id=an_id(0x30), text=f"the {word} file", origin=t.Origin.CLI
        )
        result = f'{{"conversation_id":"{conversation}","title":"the {word} file"}}'.encode()
        add(conversation, prompt, receipt=a_receipt(mine, result))
        # Answers that named the conversation and changed nothing.
        lone = f'{{"kind":"held","tty":"/dev/pts/1","title":"the {word} file"}}'.encode()
        append(
            appender,
            Batch(receipt=NewReceipt(an_id(int(mine[-4:], 16) + 0x100), "m", "done", lone)),
        )
        append(
            appender,
            Batch(receipt=NewReceipt(an_id(int(mine[-4:], 16) + 0x200), "m", "done", result)),
        )
        add(
            conversation,
            ev.TurnStarted(turn_id=mine, cwd=f"/home/{word}", scope=t.ScopeMachine()),
            ev.ShellStarted(pty_id=PTY if mine == turn else an_id(0x1001), cwd="/"),
            *(said(f"{word} {n}", mine) for n in range(events)),
            ev.AssistantMessageCompleted(turn_id=mine, index=0, text=f"{word} is found"),
            ev.TurnCompleted(turn_id=mine),
            messages=(TurnMessage(mine, 0, "demo", "demo", f'"{word}"'.encode()),),
            outbox=(
                NewOutbox(
                    "x", f'{{"conversation_id":"{conversation}","a":"{word}"}}'.encode(), True
                ),
            ),
        )
    add(
        CONVERSATION,
        ev.UndoApplied(
            conversation_id=CONVERSATION,
            undone_turn_id=turn,
            undo_id=UNDO,
            redo=False,
            origin=t.Origin.CLI,
            restored=0,
            trashed=0,
            deleted=0,
            conflicts=0,
            not_covered=0,
        ),
    )
    conn.execute("INSERT INTO recording_segments VALUES (?, 0, ?, 8, 0, 0)", (PTY, f"{PTY}/0.rec"))
    store.index()
    data = roots.data.path
    put(roots.recordings / PTY / "0.rec")
    put(roots.scratch / "2026-10-03-the-file-00000001" / "jobs" / "j1.log")
    put(roots.scratch / "2026-10-03-the-file-00000001" / MARKER, CONVERSATION)
    put(roots.state.path / "sandbox" / CONVERSATION / "tmp" / "cache")
    put(roots.runtime.path / "sbx" / CONVERSATION / "call" / "env")
    put(data / "file-backups" / CONVERSATION / "file")
    put(data / "undo-trash" / UNDO / "file")
    if shutil.which("git"):
        (data / "snapshots").mkdir(exist_ok=True)
        git_store(data / "snapshots", "a" * 16, {f"refs/efr/{CONVERSATION}/{turn}/pre": WORD})


def finisher(roots: Roots, reached: Callable[[str], None] = lambda step: None) -> Deletes:
    snapshots = Snapshots(roots.data.path / "snapshots", os.environ["PATH"])
    return Deletes(places_of(roots, MARKER), snapshots, SystemClock(), reached)


def tombstone(conn: Connection, conversation: str = CONVERSATION) -> int:
    event = NewEvent(conversation, ev.ConversationDeleted(t.Origin.CLI))
    result = f'{{"kind":"deleted","conversation_id":"{conversation}"}}'.encode()
    receipt = NewReceipt(an_id(0x999), "conversation.delete", "done", result)
    (done,) = append(Appender(conn, FakeClock()), Batch((event,), receipt))
    return done.last_seq


def in_place(conn: Connection) -> Any:
    return lambda job: transact(conn, lambda: job(conn))


@pytest.fixture(name="roots")
def _roots(tmp_path: Path) -> Roots:
    return new_home(tmp_path)


@pytest.fixture(name="conn")
def _conn(roots: Roots) -> Iterator[Connection]:
    with closing(db.open(roots.database)) as conn:
        yield conn


def words_in(conn: Connection) -> list[str]:
    """The tables that hold the planted word in a live row."""
    found = []
    tables = conn.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search_fts%'"
    ).fetchall()
    for (table,) in tables:
        for row in conn.execute(f"SELECT * FROM {table}"):
            if any(isinstance(value, str) and WORD in value for value in row):
                found.append(str(table))
                break
    return found


def files_with_the_word(roots: Roots) -> list[Path]:
    """Below every root, but for the database and its log."""
    tops = {roots.data.path, roots.state.path, roots.runtime.path, roots.config.path}
    return [
        path
        for top in tops
        for path in top.rglob("*")
        if path.is_file() and "efr.sqlite" not in path.name and WORD.encode() in path.read_bytes()
    ]


def test_the_tombstone_alone_hides_everything(roots: Roots, conn: Connection) -> None:
    plant(roots, conn)
    seq = tombstone(conn)
    store = Store(roots.database, conn)
    assert store.ids(WORD) == []
    assert store.inside(CONVERSATION, WORD).hits != ()  # the method asks for the conversation first
    for table in ("conversations", "turns", "approvals", "shells", "compactions", "jobs"):
        column = "id" if table == "conversations" else "conversation_id"
        sql = f"SELECT count(*) FROM {table} WHERE {column} = ?"
        assert conn.execute(sql, (CONVERSATION,)).get == 0
    parts = conn.execute("SELECT seq, parts FROM conversation_deletes").fetchone()
    assert parts == (seq, f'{{"ptys":["{PTY}"],"undos":["{UNDO}"],"slots":[]}}')
    late = Batch((NewEvent(CONVERSATION, said("late")),))
    assert isinstance(refused(Appender(conn, FakeClock()), late), DeletedConversation)


def test_the_planted_word_is_found_nowhere_after_a_delete(roots: Roots, conn: Connection) -> None:
    plant(roots, conn)
    seven = {"events", "turn_messages", "search_docs", "search_titles", "receipts", "outbox"}
    assert seven <= set(words_in(conn))
    assert len(files_with_the_word(roots)) >= 6
    seq = tombstone(conn)
    (delete,) = open_deletes(conn)
    assert finisher(roots).finish(in_place(conn), delete) == []

    assert words_in(conn) == []
    assert files_with_the_word(roots) == []
    assert not (roots.data.path / "snapshots" / f"{'a' * 16}.git").exists()
    assert conn.execute("SELECT count(*) FROM recording_segments").get == 0
    log = conn.execute(
        "SELECT seq, kind FROM events WHERE conversation_id = ?", (CONVERSATION,)
    ).fetchall()
    assert log == [(seq, "conversation_deleted")]
    check(conn)
    assert Store(roots.database, conn).ids(WORD) == []
    # The other conversation is whole.
    other = Store(roots.database, conn)
    assert other.ids("other") == [OTHER]
    assert conn.execute("SELECT count(*) FROM receipts").get == 4  # its three and the delete's own
    assert conn.execute("SELECT count(*) FROM turn_messages").get == 1
    assert conn.execute("SELECT count(*) FROM outbox").get == 1


def test_the_words_leave_the_index_with_its_merges(roots: Roots, conn: Connection) -> None:
    """They and free pages are all that the file keeps: written anew, it has no byte of it."""
    plant(roots, conn)
    conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    assert WORD.encode() in roots.database.read_bytes()
    tombstone(conn)
    finisher(roots).finish(in_place(conn), open_deletes(conn)[0])
    conn.execute("INSERT INTO search_fts (search_fts) VALUES ('optimize')")
    blocks = conn.execute("SELECT block FROM search_fts_data").fetchall()
    assert not any(WORD[:5].encode() in bytes(block) for (block,) in blocks)  # type: ignore[arg-type]
    conn.execute("VACUUM")
    conn.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    assert WORD.encode() not in roots.database.read_bytes()
    assert roots.database.with_name("efr.sqlite-wal").stat().st_size == 0


def test_the_tombstone_stays_and_numbers_are_never_used_again(
    roots: Roots, conn: Connection
) -> None:
    plant(roots, conn)
    seq = tombstone(conn)
    finisher(roots).finish(in_place(conn), open_deletes(conn)[0])
    (done,) = append(Appender(conn, FakeClock()), Batch((NewEvent(OTHER, said("on")),)))
    assert done.first_seq == seq + 1
    row = conn.execute(
        "SELECT seq, rows_done_at > 0, done_at > 0 FROM conversation_deletes"
    ).fetchone()
    assert row == (seq, 1, 1)
    assert receipts.receipt(conn, an_id(0x999)) is not None
    assert open_deletes(conn) == []


def test_a_rebuild_in_the_middle_skips_its_events(roots: Roots, conn: Connection) -> None:
    plant(roots, conn)
    tombstone(conn)
    deletes.delete_page(conn, CONVERSATION)
    rebuild(conn)
    assert conn.execute("SELECT id FROM conversations").fetchall() == [(OTHER,)]


def test_a_job_deletes_at_most_2000_events(roots: Roots, conn: Connection) -> None:
    plant(roots, conn, events=4500)
    tombstone(conn)
    sizes = []
    count = "SELECT count(*) FROM events WHERE conversation_id = ?"
    before = int(conn.execute(count, (CONVERSATION,)).get)
    while transact(conn, lambda: deletes.delete_page(conn, CONVERSATION)):
        left = int(conn.execute(count, (CONVERSATION,)).get)
        sizes.append(before - left)
        before = left
    assert sizes[:2] == [2000, 2000]
    assert sum(sizes) == 4500 + 7
    assert before == 1


def test_a_job_takes_less_when_there_is_much_text_in_the_index(
    roots: Roots, conn: Connection
) -> None:
    store = Store(roots.database, conn)
    one = store.conversation("start")
    for _ in range(10):
        store.answer(one, "words " * 5000)
    store.index()
    tombstone(conn, one)
    jobs = 0
    while transact(conn, lambda: deletes.delete_page(conn, one)):
        jobs += 1
    assert jobs == 5  # two answers of 30,000 characters each
    assert store.docs() == []
    check(conn)


def test_a_file_that_stays_leaves_the_delete_open(roots: Roots, conn: Connection) -> None:
    plant(roots, conn)
    tombstone(conn)
    trash = roots.data.path / "undo-trash"
    moved = trash.with_name("moved")
    trash.rename(moved)
    trash.symlink_to(moved)  # a parent that is a link is not entered
    left = finisher(roots).finish(in_place(conn), open_deletes(conn)[0])
    assert left == [trash / UNDO]
    (still,) = open_deletes(conn)
    assert still.rows_done
    trash.unlink()
    moved.rename(trash)
    finisher(roots).finish_open(conn)
    assert open_deletes(conn) == []
    assert files_with_the_word(roots) == []


def test_open_deletes_by_conversation(roots: Roots, conn: Connection) -> None:
    plant(roots, conn)
    assert open_delete(conn, CONVERSATION) is None
    tombstone(conn)
    found = open_delete(conn, CONVERSATION)
    assert found is not None
    assert (found.ptys, found.undos, found.rows_done) == ((PTY,), (UNDO,), False)


def test_a_fault_of_the_store_leaves_it_to_the_next_start(
    roots: Roots, conn: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    plant(roots, conn)
    tombstone(conn)
    conn.execute("CREATE TRIGGER t BEFORE DELETE ON outbox BEGIN SELECT RAISE(ABORT, 'no'); END")
    finisher(roots).finish_open(conn)
    assert len(open_deletes(conn)) == 1
    assert "rows of a deleted conversation stay in the database" in caplog.text
    assert files_with_the_word(roots) == []
    conn.execute("DROP TRIGGER t")
    finisher(roots).finish_open(conn)
    assert open_deletes(conn) == []


def test_a_damaged_page_keeps_its_rows_and_nothing_else(
    roots: Roots, caplog: pytest.LogCaptureFixture
) -> None:
    """The delete says that the database still holds something, and each start says it again."""
    with opened(roots.database) as conn:
        plant(roots, conn)
        tombstone(conn)
        page: Any = conn.execute(
            "SELECT max(pageno) FROM dbstat WHERE name = 'turn_messages' AND pagetype = 'leaf'"
        ).get
    data = bytearray(roots.database.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    roots.database.write_bytes(data)
    with opened(roots.database) as conn:

        def run(job: Callable[[Connection], Any], /) -> Any:
            with translated(roots.database, conn):
                return transact(conn, lambda: job(conn))

        left = finisher(roots).finish(run, open_deletes(conn)[0])
        assert left == [roots.database]
        assert files_with_the_word(roots) == []
        (still,) = open_deletes(conn)
        assert not still.rows_done
        assert Store(roots.database, conn).ids(WORD) == []
        finisher(roots).finish_open(conn)
    errors = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert len(errors) == 2
    assert all(str(roots.database) in one and "docs/operations.md" in one for one in errors)


# Kills at each step. A child does the delete, and a later start finishes it.

STEPS = [
    ("tombstone", 1),
    ("events deleted", 1),
    ("events deleted", 2),
    ("rows deleted", 1),
    ("snapshots deleted", 1),
    ("files deleted", 1),
    ("done", 1),
]


@pytest.mark.parametrize(("step", "count"), STEPS)
def test_a_kill_at_any_step_shows_nothing_and_is_finished_later(
    roots: Roots, conn: Connection, step: str, count: int
) -> None:
    plant(roots, conn, events=2500)
    command = [
        *(sys.executable, "-m", "tests.store.delete_child"),
        *(str(roots.data.path.parent), step, str(count)),
    ]
    done = subprocess.run(command, cwd=ROOT, timeout=50)
    assert done.returncode == -signal.SIGKILL
    store = Store(roots.database, conn)
    assert store.ids(WORD) == []
    assert conn.execute("SELECT id FROM conversations").fetchall() == [(OTHER,)]
    rebuild(conn)
    assert conn.execute("SELECT id FROM conversations").fetchall() == [(OTHER,)]
    finisher(roots).finish_open(conn)
    assert open_deletes(conn) == []
    assert words_in(conn) == []
    assert files_with_the_word(roots) == []
    assert conn.execute("PRAGMA integrity_check").get == "ok"
    check(conn)
    assert store.ids("other") == [OTHER]


def test_a_stop_between_a_marker_and_its_directory_leaves_nothing_behind(
    roots: Roots, conn: Connection
) -> None:
    plant(roots, conn)
    tombstone(conn)
    folder = roots.scratch / "2026-10-03-the-file-00000001"
    shutil.rmtree(folder / "jobs")
    (folder / MARKER).unlink()
    finisher(roots).finish_open(conn)
    assert not folder.exists()


# Old answers.


def test_answers_without_a_conversation_stay_30_days(roots: Roots, conn: Connection) -> None:
    plant(roots, conn)
    tombstone(conn)
    finisher(roots).finish(in_place(conn), open_deletes(conn)[0])
    now = FakeClock().now_us()
    assert receipts.drop_old(conn, now) == 0
    assert receipts.drop_old(conn, now + 1) == 3  # two without an event, and the delete's own
    left = conn.execute("SELECT command_id FROM receipts").fetchall()
    assert left == [(an_id(0x11),)]  # the other conversation's lives as long as it
