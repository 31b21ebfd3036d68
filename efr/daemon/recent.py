"""The recent list: conversations of the asker's scope first, each part newest first.

The rows are read in one transaction; what the machine knows about them (is that shell alive, does
that terminal follow) comes in as functions. Titles are shown with their secrets replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from efr.agent.place import Place, Project
from efr.agent.routing import shown_place
from efr.store import queries
from efr.text.redact import redact_title
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse

USUAL, MOST = 20, 200  # rows (docs/protocol.md, "conversations.recent")
LOOKED_AT = 2000  # newest conversations among which those of the asker's scope are found


@dataclass(frozen=True)
class Asker:
    """Who asks, from where. `place` is None without a directory."""

    tty: str | None
    pwd: str | None
    place: Place | None
    limit: int | None


@dataclass(frozen=True)
class Machine:
    """What the machine knows of a conversation."""

    projects: Sequence[Project]
    held: Callable[[queries.ConversationRow], bool]  # an open terminal has it


def recent(asker: Asker, machine: Machine, conn: Any) -> m.ConversationsRecentResult:
    """The list. For a reader's thread. Raises Refusal."""
    if asker.limit is not None and asker.limit < 1:
        raise refuse(t.ErrorCode.INVALID, "a list has at least 1 row")
    limit = min(asker.limit or USUAL, MOST)
    newest = queries.conversations_recent(conn, LOOKED_AT)
    if asker.place is not None:
        here = asker.place.route
        newest.sort(key=lambda row: row.route != here)  # stable: each part stays newest first
    scope = None
    if asker.place is not None and asker.pwd is not None:
        scope = shown_place(asker.place, asker.pwd)
    return m.ConversationsRecentResult(
        scope=scope,
        current=_current(asker, conn),
        conversations=tuple(_row(one, asker, machine, conn) for one in newest[:limit]),
    )


def _current(asker: Asker, conn: Any) -> str | None:
    if asker.tty is None:
        return None
    held = queries.conversations_of_tty(conn, asker.tty)
    return held[0].id if held else None


def _row(row: queries.ConversationRow, asker: Asker, machine: Machine, conn: Any) -> t.RecentRow:
    title = None if row.title is None else redact_title(row.title)
    here = row.tty is not None and row.tty == asker.tty
    return t.RecentRow(
        summary=replace(queries.summary(row), title=title),
        route=row.route,
        project=_name(row.route, machine.projects),
        turns=queries.prompt_turns(conn, row.id),
        open_in=row.tty if not here and row.tty is not None and machine.held(row) else None,
        here=here,
    )


def _name(route: t.RouteScope | None, projects: Sequence[Project]) -> str | None:
    if not isinstance(route, t.RouteProject):
        return None
    return next((one.title for one in projects if one.id == route.value), None)
