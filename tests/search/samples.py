"""A store with something to find: conversations that say things, and an index over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from efr.store import db
from efr.store.append import Appender
from efr.store.db import Connection
from efr.store.search.find import Found, FoundInside, find_conversations, find_inside
from efr.store.search.pages import WHOLE, Limits, merge_step, read_page, write_page
from efr.store.search.state import open_for_search, prepare, state
from efr.text.query import parse_query
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.clock import FakeClock
from tests.store.samples import an_id, append, batch, created, new_database, opened, queued, started


class Store:
    """Speaks, and brings the index up to date when told to."""

    def __init__(self, path: Path, conn: Connection) -> None:
        self.path = path
        self.conn = conn
        self.clock = FakeClock()
        self._appender = Appender(conn, self.clock)
        self._count = 0

    def append(self, *events: ev.Event, conversation: str) -> int:
        """The number of the last event."""
        return append(self._appender, batch(*events, conversation=conversation))[0].last_seq

    def conversation(self, *prompts: str) -> str:
        """A new one; each prompt is a turn."""
        new = self.id()
        append(self._appender, created(new))
        for prompt in prompts:
            self.prompt(new, prompt)
        return new

    def id(self) -> str:
        self._count += 1
        return an_id(self._count)

    def prompt(self, conversation: str, text: str) -> int:
        turn = self.id()
        self.append(queued(turn, text), conversation=conversation)
        return self.append(started(turn), conversation=conversation) - 1

    def steer(self, conversation: str, text: str) -> int:
        return self.append(ev.TurnSteered(turn_id=self.id(), text=text), conversation=conversation)

    def answer(self, conversation: str, text: str) -> int:
        event = ev.AssistantMessageCompleted(turn_id=self.id(), index=0, text=text)
        return self.append(event, conversation=conversation)

    def command(self, conversation: str, line: str, **members: object) -> int:
        event = ev.ToolCallStarted(
            turn_id=self.id(),
            call_id=self.id(),
            tool="shell",
            input={"command": line, **members},
        )
        return self.append(event, conversation=conversation)

    def delete(self, conversation: str) -> int:
        return self.append(ev.ConversationDeleted(t.Origin.CLI), conversation=conversation)

    def index(self, limits: Limits = WHOLE) -> int:
        """Reads and writes pages until there is none; says how many."""
        pages = 0
        while (page := read_page(self.conn, state(self.conn).indexed_seq, limits)) is not None:
            assert db.transact(self.conn, partial(write_page, self.conn, page))
            pages += 1
        return pages

    def merge(self) -> int:
        """Merges until a step has no work; says how many had."""
        steps = 0
        while db.transact(self.conn, lambda: merge_step(self.conn)):
            steps += 1
        return steps

    def find(self, query: str, limit: int = 50) -> Found:
        """As a lane does."""
        with closing(open_for_search(self.path)) as conn:
            return find_conversations(conn, parse_query(query), limit, self.clock)

    def ids(self, query: str) -> list[str]:
        """The conversations that a query finds, best first."""
        return [row.conversation_id for row in self.find(query).rows]

    def inside(self, conversation: str, query: str, limit: int = 20) -> FoundInside:
        """As a lane does."""
        with closing(open_for_search(self.path)) as conn:
            return find_inside(conn, conversation, parse_query(query), limit, self.clock)

    def docs(self) -> list[tuple[int, int, str]]:
        """(number, kind, text) of the whole index."""
        rows = self.conn.execute("SELECT seq, kind, text FROM search_docs ORDER BY seq")
        return [(int(seq), int(kind), str(text)) for seq, kind, text in rows]

    def titles(self) -> dict[str, str]:
        """By conversation."""
        rows = self.conn.execute("SELECT conversation_id, title FROM search_titles")
        return {str(key): str(title) for key, title in rows}


@contextmanager
def a_store(directory: Path) -> Iterator[Store]:
    """An empty one, whose index is ready to be filled."""
    path = new_database(directory)
    with opened(path) as conn:
        prepare(conn)
        yield Store(path, conn)


def check(conn: Connection) -> None:
    """The index fits its documents; raises when it does not."""
    conn.execute("INSERT INTO search_fts (search_fts, rank) VALUES ('integrity-check', 1)")
