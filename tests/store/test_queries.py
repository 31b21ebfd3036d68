"""Reads of the log and of the lists, their bounds, and the plans they run by."""

from __future__ import annotations

from pathlib import Path

import pytest

from efr.store import queries
from efr.store.db import Connection
from efr.wire import events as ev
from efr.wire import types as t
from tests.harness.clock import FakeClock
from tests.store.samples import (
    CONVERSATION,
    OTHER,
    TURN,
    an_id,
    append,
    appending,
    batch,
    created,
    queued,
    said,
    started,
)

NOW = 1_791_028_800_000_000


def seqs(events: list[queries.StoredEvent] | None) -> list[int] | None:
    return None if events is None else [one.seq for one in events]


def test_events_after_a_number_or_too_many_of_them(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), created(OTHER), batch(said(), said(), said()))
        sizes = [len(one.payload) for one in queries.events_after(conn, CONVERSATION, 0, 9, 9999)
                 or ()]  # fmt: skip

        def after(seq: int, events: int, size: int) -> list[int] | None:
            return seqs(queries.events_after(conn, CONVERSATION, seq, events, size))

        assert after(0, 4, 9999) == [1, 3, 4, 5]
        assert after(0, 3, 9999) is None
        assert after(0, 4, sum(sizes)) == [1, 3, 4, 5]
        assert after(0, 4, sum(sizes) - 1) is None
        assert after(5, 4, 0) == []
        assert after(4, 1, 9999) == [5]


def test_the_newest_events_page_back_to_the_first(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), created(OTHER), batch(*(said() for _ in range(10))))
        found: list[int] = []
        before: int | None = None
        while True:
            page, older = queries.newest_events(conn, CONVERSATION, before, 3, 9999)
            found = [one.seq for one in page] + found
            if not older:
                break
            before = page[0].seq
        assert found == [1, *range(3, 13)]


def test_a_page_ends_at_its_bytes_but_one_large_event_comes_alone(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(said("x" * 5000), said("a"), said("b")))
        page, older = queries.newest_events(conn, CONVERSATION, None, 9, 1000)
        assert (seqs(page), older) == ([3, 4], True)
        page, older = queries.newest_events(conn, CONVERSATION, 3, 9, 1000)
        assert (seqs(page), older) == ([2], True)
        page, older = queries.newest_events(conn, CONVERSATION, 2, 9, 1000)
        assert (seqs(page), older) == ([1], False)


def test_kinds_can_be_left_out(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), said(), started()))
        without = ("assistant_message_updated",)
        page, _ = queries.newest_events(conn, CONVERSATION, None, 9, 9999, without)
        assert [one.kind for one in page][1:] == ["prompt_queued", "turn_started"]


def test_the_events_of_a_turn(tmp_path: Path) -> None:
    second = an_id(0x11)
    with appending(tmp_path) as (conn, appender):
        append(appender, created(), batch(queued(), queued(second), started(), said()))
        append(appender, batch(ev.TurnCompleted(TURN), started(second), said(turn=second)))
        assert seqs(queries.turn_events(conn, CONVERSATION, TURN)) == [2, 4, 5, 6]
        assert seqs(queries.turn_events(conn, CONVERSATION, second)) == [3, 7, 8]
        assert queries.turn_events(conn, CONVERSATION, an_id(0x99)) == []


def test_one_event_by_its_number(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, batch(ev.LoginCompleted("demo"), conversation=None))
        assert queries.event(conn, 1) == queries.StoredEvent(
            1, None, None, "login_completed", b'{"kind":"login_completed","provider":"demo"}', NOW
        )
        assert queries.event(conn, 2) is None
        assert queries.high_water(conn) == 1


def test_conversations_page_by_their_newest_event(tmp_path: Path) -> None:
    ids = [an_id(n) for n in range(1, 8)]
    with appending(tmp_path) as (conn, appender):
        for one in ids:
            append(appender, created(one))
        append(appender, batch(queued(), conversation=ids[0]))
        first = queries.conversations_page(conn, None, 3)
        second = queries.conversations_page(conn, first[-1].last_seq, 3)
        third = queries.conversations_page(conn, second[-1].last_seq, 3)
        assert [[one.id for one in page] for page in (first, second, third)] == [
            [ids[0], ids[6], ids[5]],
            [ids[4], ids[3], ids[2]],
            [ids[1]],
        ]


def test_pages_reach_the_oldest_of_a_thousand_of_90_days(tmp_path: Path) -> None:
    ids = [an_id(n) for n in range(1000)]
    app = t.RouteProject(value=an_id(9999))
    clock = FakeClock()
    with appending(tmp_path) as (conn, appender):
        appender._clock = clock
        for number, one in enumerate(ids):
            append(appender, created(one, route=app if number % 10 == 0 else None))
            clock.advance(90 * 86_400 / len(ids))
        found: list[str] = []
        before: int | None = None
        while page := queries.conversations_page(conn, before, 150):
            found += [one.id for one in page]
            before = page[-1].last_seq
        assert found == ids[::-1]
        mine = queries.conversations_of_scope(conn, app, 20, others=False)
        assert [one.id for one in mine] == ids[990::-10][:20]


def test_the_recent_list_follows_the_time(tmp_path: Path) -> None:
    clock = FakeClock()
    with appending(tmp_path) as (conn, appender):
        appender._clock = clock
        append(appender, created())
        clock.advance(-60)
        append(appender, created(OTHER))
        assert [one.id for one in queries.conversations_recent(conn, 9)] == [CONVERSATION, OTHER]


def test_a_scope_of_the_recent_list_and_the_others(tmp_path: Path) -> None:
    app = t.RouteProject(value=an_id(99))
    with appending(tmp_path) as (conn, appender):
        append(appender, created(an_id(1), route=app))
        append(appender, created(an_id(2)))
        append(appender, created(an_id(3), route=t.RouteOutside()))
        append(appender, created(an_id(4), route=app))

        def ids(limit: int, *, others: bool) -> list[str]:
            rows = queries.conversations_of_scope(conn, app, limit, others=others)
            return [one.id for one in rows]

        assert ids(9, others=False) == [an_id(4), an_id(1)]
        assert ids(9, others=True) == [an_id(3), an_id(2)]
        assert ids(1, others=False) == [an_id(4)]


def test_where_a_conversation_last_was(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created())
        assert queries.last_directory(conn, CONVERSATION) is None
        append(appender, batch(queued(), started()))
        assert queries.last_directory(conn, CONVERSATION) == "/home/u"
        append(appender, batch(ev.ShellStarted(pty_id=an_id(8), cwd="/p", pid=1)))
        append(appender, batch(ev.CwdChanged(pty_id=an_id(8), cwd="/p/src"), said()))
        assert queries.last_directory(conn, CONVERSATION) == "/p/src"
        assert queries.last_directory(conn, OTHER) is None


def test_when_a_terminal_last_was_there(tmp_path: Path) -> None:
    clock = FakeClock()
    with appending(tmp_path) as (conn, appender):
        appender._clock = clock
        append(appender, created(tty="/dev/pts/1", route=t.RouteOutside()))
        clock.advance(60)
        append(appender, batch(said()))
        found = queries.conversation(conn, CONVERSATION)
        assert found is not None
        assert (found.routed_at, found.updated_at) == (NOW, NOW + 60_000_000)
        append(appender, created(OTHER))
        other = queries.conversation(conn, OTHER)
        assert other is not None
        assert other.routed_at is None


def test_the_slots_of_a_start_are_one_query(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        for number in range(1, 6):
            route = t.RouteProject(value=an_id(90 + number))
            append(appender, created(an_id(number), tty="/dev/pts/1", route=route))
        asked: list[str] = []

        def note(_: object, sql: str, __: object) -> bool:
            asked.append(sql)
            return True

        conn.set_exec_trace(note)
        own = queries.conversations_of_tty(conn, "/dev/pts/1")
        everybody = queries.slots(conn)
        conn.set_exec_trace(None)
        assert len(asked) == 2
        assert len(own) == len(everybody) == 5


def test_a_row_as_the_protocol_shows_it(tmp_path: Path) -> None:
    with appending(tmp_path) as (conn, appender):
        append(appender, created(tty="/dev/pts/1", route=t.RouteOutside()))
        append(appender, batch(queued(), started()))
        found = queries.conversation(conn, CONVERSATION)
        assert found is not None
        assert queries.summary(found) == t.ConversationSummary(
            id=CONVERSATION,
            title="fix the tests",
            status=t.ConversationStatus.RUNNING,
            created_at="2026-10-03T12:00:00Z",
            updated_at="2026-10-03T12:00:00Z",
            last_seq=3,
            cwd="/home/u",
            scope=t.ScopeMachine(),
            tty="/dev/pts/1",
        )
        assert queries.conversation(conn, OTHER) is None


def plan(conn: Connection, ask: object) -> list[str]:
    """The plan lines of every statement that `ask` runs."""
    statements: list[tuple[str, object]] = []

    def note(_: object, sql: str, values: object) -> bool:
        statements.append((sql, values))
        return True

    conn.set_exec_trace(note)
    ask()  # type: ignore[operator]
    conn.set_exec_trace(None)
    return [
        str(line[3])
        for sql, values in statements
        for line in conn.execute(f"EXPLAIN QUERY PLAN {sql}", values)  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize(
    ("name", "ask", "index"),
    [
        ("page", lambda c: queries.conversations_page(c, 9, 5), "conversations_last_seq"),
        ("recent", lambda c: queries.conversations_recent(c, 5), "conversations_updated"),
        (
            "scope",
            lambda c: queries.conversations_of_scope(c, t.RouteOutside(), 5, others=False),
            "conversations_updated",
        ),
        ("last directory", lambda c: queries.last_directory(c, OTHER), "events_conversation"),
        ("tty", lambda c: queries.conversations_of_tty(c, "x"), "conversations_tty"),
        (
            "route",
            lambda c: queries.conversations_of_route(c, t.RouteOutside(), 5),
            "conversations_route",
        ),
        (
            "after",
            lambda c: queries.events_after(c, CONVERSATION, 1, 5, 5),
            "events_conversation",
        ),
        (
            "newest",
            lambda c: queries.newest_events(c, CONVERSATION, None, 5, 5),
            "events_conversation",
        ),
        ("turns", lambda c: queries.turns(c, CONVERSATION), "turns_conversation"),
        ("open turns", queries.open_turns, "turns_status"),
        (
            "questions",
            lambda c: queries.pending_approvals(c, CONVERSATION),
            "approvals_conversation",
        ),
        ("all questions", lambda c: queries.pending_approvals(c, None), "approvals_pending"),
        (
            "messages",
            lambda c: queries.turn_messages(c, CONVERSATION),
            "turn_messages_conversation",
        ),
        (
            "compaction",
            lambda c: queries.newest_compaction(c, CONVERSATION, with_summary=True),
            "compactions_conversation",
        ),
    ],
)
def test_the_queries_use_their_index(tmp_path: Path, name: str, ask: object, index: str) -> None:
    with appending(tmp_path) as (conn, _):
        lines = plan(conn, lambda: ask(conn))  # type: ignore[operator]
        assert any(index in line for line in lines), lines
        sorts = [line for line in lines if "TEMP B-TREE" in line]
        assert bool(sorts) == (name in ("tty", "open turns")), lines  # a handful of rows each
