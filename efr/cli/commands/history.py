"""`efr history`: the recent conversations, or one as a transcript. Only shows; moves nothing."""

from __future__ import annotations

from typing import Any

from efr.cli.conversations import here, resolve, short_ids
from efr.cli.dialog import open_connection
from efr.cli.errors import UsageError
from efr.cli.printing import columns_of, print_json, print_lines, table
from efr.cli.render.spans import MUTED, Line, cut_line, row
from efr.cli.run import Run, terminal_name
from efr.cli.transcript import transcript
from efr.client.connection import Connection
from efr.text.numbers import age_text
from efr.text.visible import visible_line
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

ROWS = 20  # one screen of a list
LARGEST_LIST, LARGEST_PAGE = 200, 500  # the daemon's limits
_WORTH_A_CUT = 50  # columns of a terminal: with fewer nothing of a title would be left
_STATUS = {"awaiting_approval": "awaiting approval"}


def history(run: Run) -> int:
    """Prints a list, or the transcript of one conversation."""
    with open_connection(run) as connection:
        if run.args.get("<id>"):
            return _one(run, connection, resolve(connection, run.args["<id>"]).id)
        if run.args.get("--verbose"):
            return _one(run, connection, here(run, connection, terminal_name()).id)
        return _list(run, connection)


def _limit(run: Run, largest: int) -> int | None:
    text = run.args.get("--limit")
    if text is None:
        return None
    if not text.isdecimal() or not 1 <= int(text) <= largest:
        raise UsageError(f"--limit takes 1 to {largest}")
    return int(text)


def _list(run: Run, connection: Connection) -> int:
    limit = _limit(run, LARGEST_LIST) or ROWS
    members: dict[str, Any] = {"cursor": run.args.get("--cursor"), "limit": limit}
    if run.args.get("--json"):
        print_json(connection.call_json("conversations.list", **members))
        return 0
    page: m.ConversationsListResult = connection.call("conversations.list", **members)
    ids = short_ids(connection, page, first=run.args.get("--cursor") is None)
    print_lines(run, _rows(run, page, ids))
    return 0


def _rows(run: Run, page: m.ConversationsListResult, ids: list[str]) -> list[Line]:
    now_us = run.clock.now_us()
    cells = [
        [
            short,
            _STATUS.get(one.status.value, one.status.value),
            age_text((now_us - t.time_to_us(one.updated_at)) / 1_000_000),
            visible_line(one.title or "(no title)"),
        ]
        for short, one in zip(ids, page.conversations, strict=True)
    ]
    lines = table(cells)
    columns = columns_of()
    if columns is not None and columns >= _WORTH_A_CUT:
        lines = [cut_line(line, columns) for line in lines]
    if page.next_cursor is not None:
        lines.append(row(f"more: efr history {_same(run)}--cursor={page.next_cursor}", MUTED))
    return lines


def _same(run: Run) -> str:
    """The options of this page that the next one needs too."""
    limit = f"--limit={run.args['--limit']} " if run.args.get("--limit") else ""
    return f"{'--verbose ' if run.args.get('--verbose') else ''}{limit}"


def _one(run: Run, connection: Connection, conversation_id: str) -> int:
    limit = _limit(run, LARGEST_PAGE)
    cursor = run.args.get("--cursor")
    if run.args.get("--json"):
        members = {"conversation_id": conversation_id, "cursor": cursor, "limit": limit}
        print_json(connection.call_json("conversation.history", **members))
        return 0
    events, older = _events(connection, conversation_id, cursor, limit)
    verbose = bool(run.args.get("--verbose"))
    lines = transcript(events, verbose=verbose, newest=cursor is None, oldest=older is None)
    if older is not None:
        lines = lines or [row("nothing to show on this page", MUTED)]
        again = f"efr history {conversation_id} {_same(run)}--cursor={older}"
        lines.append(row(f"older: {again}", MUTED))
    print_lines(run, lines)
    return 0


def _events(
    connection: Connection, conversation_id: str, cursor: str | None, limit: int | None
) -> tuple[list[ev.EventEnvelope], str | None]:
    """One page, or everything without a limit and a cursor; and the cursor of what is older."""
    whole = limit is None and cursor is None
    found: list[ev.EventEnvelope] = []
    while True:
        page: m.ConversationHistoryResult = connection.call(
            "conversation.history",
            conversation_id=conversation_id,
            cursor=cursor,
            limit=LARGEST_PAGE if whole else limit,
        )
        found = [*page.events, *found]
        cursor = page.next_cursor
        if cursor is None or not whole:
            return found, cursor
