"""The recent list: conversations of the asker's scope first, each part newest first.

The rows are read in one transaction; what the machine knows about them (is that shell alive, does
that terminal follow) comes in as functions. Titles are shown with their secrets replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from efr.agent.place import Place
from efr.agent.routing import shown_place
from efr.config.project_text import Project
from efr.store import queries
from efr.text.redact import redact_title
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse

USUAL, MOST = 20, 200  # rows (docs/protocol.md, "conversations.recent")


class Asker(Struct, frozen=True):
    """Who asks, from where. `place` is None without a directory."""

    tty: str | None
    pwd: str | None
    place: Place | None
    limit: int | None


class Machine(Struct, frozen=True):
    """What the machine knows of a conversation."""

    projects: Sequence[Project]
    held: Callable[[queries.ConversationRow], bool]  # an open terminal has it


def recent(asker: Asker, machine: Machine, conn: Any) -> m.ConversationsRecentResult:
    """The list. For a reader's thread. Raises Refusal."""
    if asker.limit is not None and asker.limit < 1:
        raise refuse(t.ErrorCode.INVALID, "a list has at least 1 row")
    rows = _rows(asker.place, min(asker.limit or USUAL, MOST), conn)
    turns = queries.prompt_turns(conn, [row.id for row in rows])
    scope = None
    if asker.place is not None and asker.pwd is not None:
        scope = shown_place(asker.place, asker.pwd)
    return m.ConversationsRecentResult(
        scope=scope,
        current=_current(asker, machine, conn),
        conversations=tuple(
            recent_row(row, turns.get(row.id, 0), asker.tty, machine) for row in rows
        ),
    )


def recent_row(
    row: queries.ConversationRow, turns: int, tty: str | None, machine: Machine
) -> t.RecentRow:
    """One row as the terminal `tty` sees it."""
    title = None if row.title is None else redact_title(row.title)
    here = row.tty is not None and row.tty == tty and _is_open(row, machine)
    elsewhere = row.tty is not None and row.tty != tty and machine.held(row)
    return t.RecentRow(
        summary=replace(queries.summary(row), title=title),
        route=row.route,
        project=_name(row.route, machine.projects),
        turns=turns,
        open_in=row.tty if elsewhere else None,
        here=here,
    )


def _rows(place: Place | None, limit: int, conn: Any) -> list[queries.ConversationRow]:
    if place is None:
        return queries.conversations_recent(conn, limit)
    first = queries.conversations_of_scope(conn, place.route, limit, others=False)
    left = limit - len(first)
    if left == 0:
        return first
    return first + queries.conversations_of_scope(conn, place.route, left, others=True)


def _current(asker: Asker, machine: Machine, conn: Any) -> str | None:
    """The terminal's newest slot; a terminal of that name which is closed holds nothing."""
    if asker.tty is None:
        return None
    slots = queries.conversations_of_tty(conn, asker.tty)
    return next((row.id for row in slots if _is_open(row, machine)), None)


def _is_open(row: queries.ConversationRow, machine: Machine) -> bool:
    """Whether the terminal that holds it is still the one that it was, as far as one can know."""
    return row.shell_pid is None or machine.held(row)


def _name(route: t.RouteScope | None, projects: Sequence[Project]) -> str | None:
    if not isinstance(route, t.RouteProject):
        return None
    return next((one.title for one in projects if one.id == route.value), None)
