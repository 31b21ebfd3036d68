"""`efr diff`: what a turn changed in files. In a pipe the plain diff alone, fit for `git apply`."""

from __future__ import annotations

import sys
from typing import Any

from efr.cli import handover
from efr.cli.asker import asker_of
from efr.cli.conversations import here, resolve, start_of_id
from efr.cli.dialog import open_connection
from efr.cli.errors import DONE, CommandError, UsageError
from efr.cli.printing import print_json, print_lines
from efr.cli.render.diff_page import page, stat_rows, total_row
from efr.cli.run import Run, is_terminal
from efr.client.connection import Connection
from efr.wire import events as ev
from efr.wire import methods as m

_ID = 36  # characters of a whole id
_PAGE = 500  # the daemon's largest page of a history


def diff(run: Run) -> int:
    """Prints the diff, or with --stat the list. No change is a note, not an error."""
    stat = bool(run.args.get("--stat"))
    tty = asker_of(run, handover.take(run.env)).tty or ""
    with open_connection(run, tty=tty) as connection:
        members = {**_turn(run, connection, tty), "stat": stat}
        if run.args.get("--json"):
            print_json(connection.call_json("conversation.diff", **members))
            return DONE
        told: m.ConversationDiffResult = connection.call("conversation.diff", **members)
    if not told.changes.files and not told.diff:
        run.note("no changed file is recorded for this turn")
    elif stat:
        print_lines(run, [*stat_rows(told.changes), total_row(told.changes)])
    elif is_terminal(1):
        print_lines(run, [*page(told.diff or ""), total_row(told.changes)])
    else:
        sys.stdout.write(told.diff or "")
    return DONE


def _turn(run: Run, connection: Connection, tty: str) -> dict[str, Any]:
    """The members that name the turn. Raises CommandError, UsageError."""
    wanted, named = run.args.get("--turn"), run.args.get("--conversation")
    if wanted and len(wanted) == _ID and not named:
        return {"turn_id": wanted.lower()}
    found = resolve(connection, named) if named else here(run, connection, tty)
    members: dict[str, Any] = {"conversation_id": found.id}
    if wanted:
        members["turn_id"] = _whole(connection, found.id, start_of_id(wanted, "turn"))
    return members


def _whole(connection: Connection, conversation_id: str, start: str) -> str:
    """The one turn of the conversation whose id is or starts so."""
    found: set[str] = set()
    cursor: str | None = None
    while True:
        told: m.ConversationHistoryResult = connection.call(
            "conversation.history", conversation_id=conversation_id, cursor=cursor, limit=_PAGE
        )
        started = [one.event for one in told.events if isinstance(one.event, ev.TurnStarted)]
        found.update(one.turn_id for one in started if one.turn_id.startswith(start))
        cursor = told.next_cursor
        if cursor is None:
            break
    if not found:
        raise CommandError(f"no turn of the conversation starts with {start}")
    if len(found) > 1:
        raise UsageError(f"{len(found)} turns start with {start}", fix="give more of the id")
    return found.pop()
