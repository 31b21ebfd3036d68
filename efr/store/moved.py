"""What left a slot of a terminal for another terminal, as the log tells it.

While efrd runs it remembers that itself (`efr.agent.routing`); this is for the first prompt of a
terminal after a start. A deleted conversation has no events: of it only its tombstone counts, which
tells that it took the slot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from efr.store.conversations import conversations_of_route, conversations_recent
from efr.store.db import Connection
from efr.store.projections.deletes import slots_taken
from efr.store.rows import ConversationRow
from efr.wire import codec
from efr.wire import types as t

_LOOKED_AT = 64  # conversations, the newest ones; one that moved was used lately


class MovedAway(Struct, frozen=True):
    """A conversation that went to another terminal. `row` is it as it was in the slot."""

    row: ConversationRow
    tty: str  # where it went


class _Taking(NamedTuple):
    """A conversation came into a slot of a terminal."""

    seq: int
    at_us: int
    tty: str
    route: str | None
    shell_pid: int | None


def moved_away(conn: Connection, tty: str, route: t.RouteScope | None) -> MovedAway | None:
    """What last left the terminal's slot of that route, or (None) any of its slots, when nothing
    came into it since."""
    key = None if route is None else codec.encode(route).decode()
    if route is None:
        rows = conversations_recent(conn, _LOOKED_AT)
    else:
        rows = conversations_of_route(conn, route, _LOOKED_AT)
    newest, found = _deleted_since(conn, tty, key), None
    for row in rows:
        takings = _takings(conn, row.id)
        here = [
            i
            for i, one in enumerate(takings)
            if one.tty == tty and (key is None or one.route == key)
        ]
        if here and takings[here[-1]].seq > newest:
            newest = takings[here[-1]].seq
            found = (row, takings[here[-1] :])
    if found is None or len(found[1]) == 1:
        return None  # nothing, or it stayed
    return _moved(conn, *found)


def _moved(conn: Connection, row: ConversationRow, takings: Sequence[_Taking]) -> MovedAway | None:
    here, there = takings[0], takings[1]
    if there.tty == here.tty:
        return None
    prompts: list[Any] = conn.execute(
        "SELECT seq, created_at, payload ->> '$.context.shell_pid' FROM events"
        " WHERE conversation_id = ? AND kind = 'prompt_queued' AND seq BETWEEN ? AND ?"
        " AND payload ->> '$.context.tty' = ? ORDER BY seq",
        (row.id, here.seq, there.seq, here.tty),
    ).fetchall()
    pids = [here.shell_pid, *(pid for _, _, pid in prompts)]
    used_seq, used_at, _ = prompts[-1] if prompts else (here.seq, here.at_us, None)
    route = None if here.route is None else codec.decode(here.route.encode(), t.RouteScope)
    as_it_was = ConversationRow(
        id=row.id,
        origin=row.origin,
        title=row.title,
        status=row.status,
        tty=here.tty,
        cwd=row.cwd,
        scope=row.scope,
        route=route,
        shell_pid=next((pid for pid in pids if pid is not None), None),
        routed_seq=used_seq,
        created_at=row.created_at,
        updated_at=row.updated_at,
        last_seq=row.last_seq,
        routed_at=used_at,
    )
    return MovedAway(as_it_was, there.tty)


def _takings(conn: Connection, conversation_id: str) -> list[_Taking]:
    rows = conn.execute(
        "SELECT seq, created_at, payload ->> '$.tty', payload -> '$.route',"
        " payload ->> '$.shell_pid' FROM events WHERE conversation_id = ?"
        " AND kind IN ('conversation_created', 'terminal_attached')"
        " AND payload ->> '$.tty' IS NOT NULL ORDER BY seq",
        (conversation_id,),
    )
    return [_Taking(*row) for row in rows]


def _deleted_since(conn: Connection, tty: str, route: str | None) -> int:
    """When a conversation that is deleted now last came into the slot; 0 for never."""
    taken = [
        one.seq
        for one in slots_taken(conn)
        if one.tty == tty and (route is None or one.route == route)
    ]
    return max(taken, default=0)
