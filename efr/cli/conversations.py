"""Which conversation a command means: an id, the start of one, or this terminal's last one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from efr.cli.errors import CommandError, UsageError
from efr.cli.run import Run
from efr.client.connection import Connection
from efr.text.visible import visible_line
from efr.wire import methods as m
from efr.wire import types as t

LEAST = 4  # characters of the start of an id: ids of one minute share more than that anyway
SHORT = 8  # characters of an id in a list, or more: the part of its time that a person can type
PAGE = 200  # the daemon's largest page
_START = re.compile(r"[0-9a-f-]+")


def resolve(connection: Connection, wanted: str) -> t.ConversationSummary:
    """The one conversation whose id is or starts with `wanted`.

    Raises CommandError when there is none, UsageError when several match or it is too short.
    """
    start = start_of_id(wanted, "conversation")
    found = [row for row in every(connection) if row.id.startswith(start)]
    if not found:
        raise CommandError(f"no conversation starts with {wanted}", fix="efr history")
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} conversations start with {wanted}", fix="give more of the id"
        )
    return found[0]


def start_of_id(wanted: str, what: str) -> str:
    """What may be an id or the start of one, as ids are written. Raises UsageError."""
    start = wanted.lower()
    if not _START.fullmatch(start):
        raise UsageError(f"'{visible_line(wanted)}' is no {what} id", fix="efr history")
    if len(start) < LEAST:
        fix = f"give {LEAST} characters or more"
        raise UsageError(f"'{wanted}' is too short for a {what} id", fix=fix)
    return start


def every(connection: Connection) -> Iterator[t.ConversationSummary]:
    """All conversations, the most recently updated first, a page at a time."""
    cursor: str | None = None
    while True:
        page: m.ConversationsListResult = connection.call(
            "conversations.list", cursor=cursor, limit=PAGE
        )
        yield from page.conversations
        cursor = page.next_cursor
        if cursor is None:
            return


def of_terminal(connection: Connection, tty: str) -> t.ConversationSummary | None:
    """The conversation of this terminal's last prompt, None when it has none."""
    if not tty:
        return None
    page: m.ConversationsListResult = connection.call("conversations.list", tty=tty)
    return page.conversations[0] if page.conversations else None


def named_or_here(run: Run, connection: Connection, tty: str, command: str) -> str:
    """The conversation that is named, else this terminal's. Raises CommandError."""
    wanted = run.args.get("--conversation") or run.args.get("<id>")
    if wanted:
        return resolve(connection, wanted).id
    found = of_terminal(connection, tty)
    if found is None:
        fix = f"efr {command} --conversation=ID"
        raise CommandError("this terminal has no conversation", fix=fix)
    return found.id


def here(run: Run, connection: Connection, tty: str) -> t.ConversationSummary:
    """This terminal's conversation, else the newest of all, which one line says."""
    found = of_terminal(connection, tty)
    if found is not None:
        return found
    found = newest(connection)
    if found is None:
        raise CommandError("there is no conversation yet", fix="efr send <prompt>")
    run.note(f'the newest conversation: "{visible_line(found.title or "(no title)")}"')
    return found


def newest(connection: Connection) -> t.ConversationSummary | None:
    """The most recently updated conversation of all."""
    page: m.ConversationsListResult = connection.call("conversations.list", limit=1)
    return page.conversations[0] if page.conversations else None


def short_ids(connection: Connection, page: m.ConversationsListResult, first: bool) -> list[str]:
    """For each row the shortest start that names it alone, of all conversations; 8 characters or
    more. `first`: no page came before this one."""
    rows = page.conversations
    whole = first and page.next_cursor is None
    ids = sorted({row.id for row in (rows if whole else every(connection))} | {r.id for r in rows})
    shared = dict.fromkeys(ids, 0)
    for one, after in pairwise(ids):  # neighbours in order are the ones most like each other
        same = next((n for n, (a, b) in enumerate(zip(one, after, strict=True)) if a != b), 0)
        shared[one], shared[after] = max(shared[one], same), same
    return [row.id[: max(SHORT, shared[row.id] + 1)] for row in rows]
