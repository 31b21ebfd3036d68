"""A small store for tests: ids, batches and a database in a temporary directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from efr.store import db
from efr.store.append import Appender
from efr.store.batch import Batch, Committed, NewEvent, NewReceipt
from efr.store.db import Connection
from efr.store.migrate import migrate
from efr.store.projections import TABLES
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.clock import FakeClock


def an_id(number: int) -> str:
    """A UUID with that number at its end."""
    return f"0198f000-0000-7000-8000-{number:012x}"


CONVERSATION = an_id(1)
OTHER = an_id(2)
TURN = an_id(0x10)
CALL = an_id(0x100)
PTY = an_id(0x1000)


def batch(*events: ev.Event, conversation: str | None = CONVERSATION, **rest: Any) -> Batch:
    """A batch of events of one conversation."""
    return Batch(tuple(NewEvent(conversation, event) for event in events), **rest)


def created(conversation: str = CONVERSATION, **members: Any) -> Batch:
    """The birth of a conversation."""
    return batch(ev.ConversationCreated(t.Origin.CLI, **members), conversation=conversation)


def queued(turn: str = TURN, text: str = "fix the tests", **members: Any) -> ev.PromptQueued:
    """A prompt that waits."""
    members.setdefault("origin", t.Origin.CLI)
    return ev.PromptQueued(turn_id=turn, command_id=turn, text=text, **members)


def started(turn: str = TURN, scope: t.Scope | None = None) -> ev.TurnStarted:
    """A turn that runs, in the machine's scope unless said."""
    return ev.TurnStarted(turn_id=turn, cwd="/home/u", scope=scope or t.ScopeMachine())


def said(text: str = "hello", turn: str = TURN, offset: int = 0) -> ev.AssistantMessageUpdated:
    """A piece of an answer: the most frequent event."""
    return ev.AssistantMessageUpdated(turn_id=turn, index=0, offset=offset, delta=text)


def called(call: str = CALL, turn: str = TURN) -> ev.ToolCallStarted:
    """A tool call that began."""
    return ev.ToolCallStarted(turn_id=turn, call_id=call, tool="shell", input={"command": "ls"})


def answered(call: str = CALL, turn: str = TURN) -> ev.ToolCallCompleted:
    """Its result."""
    return ev.ToolCallCompleted(
        turn_id=turn, call_id=call, output="a\n", truncated=False, is_error=False
    )


def asked(call: str = CALL, turn: str = TURN) -> ev.ApprovalRequested:
    """A question about a call."""
    return ev.ApprovalRequested(turn_id=turn, call_id=call, summary="run ls")


def allowed(call: str = CALL, turn: str = TURN) -> ev.ApprovalResolved:
    """A yes."""
    return ev.ApprovalResolved(
        turn_id=turn, call_id=call, decision=t.ApprovalDecision.ALLOW, origin=t.Origin.SHELL
    )


def a_receipt(command: str, result: bytes = b"{}", **members: Any) -> NewReceipt:
    """The answer of a `prompt.send`."""
    return NewReceipt(command, "prompt.send", "done", result, **members)


def new_database(directory: Path) -> Path:
    """A migrated, empty database. Made once, then copied: a copy needs no sync of the disk."""
    path = directory / "efr.sqlite"
    path.write_bytes(_empty_database())
    path.chmod(0o600)
    return path


@cache
def _empty_database() -> bytes:
    with TemporaryDirectory() as directory:
        path = Path(directory) / "efr.sqlite"
        with opened(path) as conn:
            migrate(conn)
        return path.read_bytes()


@contextmanager
def opened(path: Path) -> Iterator[Connection]:
    """A read-write connection, closed at the end."""
    conn = db.open(path)
    try:
        yield conn
    finally:
        conn.close()


@contextmanager
def appending(directory: Path) -> Iterator[tuple[Connection, Appender]]:
    """A fresh database and who appends to it."""
    with opened(new_database(directory)) as conn:
        yield conn, Appender(conn, FakeClock())


def append(appender: Appender, *batches: Batch) -> list[Committed]:
    """Appends together; every batch must get in."""
    outcomes = appender.append(batches).outcomes
    committed = [outcome for outcome in outcomes if isinstance(outcome, Committed)]
    assert len(committed) == len(batches), outcomes
    return committed


def refused(appender: Appender, one: Batch) -> Exception:
    """Appends alone; the batch must not get in."""
    (outcome,) = appender.append((one,)).outcomes
    assert isinstance(outcome, Exception), outcome
    return outcome


def kinds(conn: Connection) -> list[str]:
    """The kinds of the whole log."""
    return [str(row[0]) for row in conn.execute("SELECT kind FROM events ORDER BY seq")]


def projections(conn: Connection) -> dict[str, list[dict[str, Any]]]:
    """Every row of every projection, in the order of the keys."""
    return {table: _rows(conn, table) for table in TABLES}


def _rows(conn: Connection, table: str) -> list[dict[str, Any]]:
    names = [str(row[1]) for row in conn.execute(f"PRAGMA table_info({table})")]
    rows = conn.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
    return [dict(zip(names, row, strict=True)) for row in rows]


def row(conn: Connection, table: str, key: str = CONVERSATION) -> dict[str, Any]:
    """The one row of a projection with that id."""
    column = "pty_id" if table == "shells" else "id"
    (found,) = [one for one in projections(conn)[table] if one[column] == key]
    return found
