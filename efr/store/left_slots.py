"""What left a slot of a terminal, to another terminal or for good, as the store tells it.

While efrd runs it remembers that itself (`efr.agent.routing`); this is for the first prompt of a
terminal after a start. A deleted conversation has no events: of it only its tombstone counts.
"""

from __future__ import annotations

from msgspec import Struct

from efr.store.conversations import conversations_of_route, conversations_recent
from efr.store.db import Connection
from efr.store.projections.deletes import SlotTaken, slots_taken
from efr.store.projections.takings import Taking, takings, with_use
from efr.store.rows import ConversationRow
from efr.wire import codec
from efr.wire import types as t

_LOOKED_AT = 64  # conversations, the newest ones; one that moved was used lately


class LeftSlot(Struct, frozen=True):
    """A conversation that is no longer in a slot, with the slot's last use by it."""

    conversation_id: str
    title: str | None
    tty: str
    route: t.RouteScope | None
    scope: t.Scope | None
    shell_pid: int | None
    used_seq: int
    used_at: int
    to: str | None  # the terminal that it went to; None: it was deleted


def left_slot(conn: Connection, tty: str, route: t.RouteScope | None) -> LeftSlot | None:
    """What last left the terminal's slot of that route, or (None) any of its slots, when nothing
    came into it since."""
    key = None if route is None else codec.encode(route).decode()

    def is_here(took: Taking | SlotTaken) -> bool:
        return took.tty == tty and (key is None or took.route == key)

    gone = [one for one in slots_taken(conn) if is_here(one)]
    newest = max((one.seq for one in gone), default=0)
    found: tuple[ConversationRow, list[Taking]] | None = None
    if route is None:
        rows = conversations_recent(conn, _LOOKED_AT)
    else:
        rows = conversations_of_route(conn, route, _LOOKED_AT)
    for row in rows:
        took = takings(conn, row.id)
        here = [i for i, one in enumerate(took) if is_here(one)]
        if here and took[here[-1]].seq > newest:
            newest = took[here[-1]].seq
            found = (row, took[here[-1] :])
    if found is not None:
        return _moved(conn, *found)
    return _deleted(gone[-1]) if gone else None


def _moved(conn: Connection, row: ConversationRow, took: list[Taking]) -> LeftSlot | None:
    if len(took) == 1 or took[1].tty == took[0].tty:
        return None  # it stayed
    there = took[1]
    here = with_use(conn, row.id, took[0], there.seq)
    return LeftSlot(
        conversation_id=row.id,
        title=row.title,
        tty=here.tty,
        route=_route(here.route),
        scope=row.scope,
        shell_pid=here.shell_pid,
        used_seq=here.used_seq or here.seq,
        used_at=here.used_at or 0,
        to=there.tty,
    )


def _deleted(slot: SlotTaken) -> LeftSlot | None:
    """None: its tombstone is from before tombstones told this."""
    if slot.used_seq is None or slot.used_at is None:
        return None
    return LeftSlot(
        conversation_id=slot.conversation_id,
        title=None,
        tty=slot.tty,
        route=_route(slot.route),
        scope=None,
        shell_pid=slot.shell_pid,
        used_seq=slot.used_seq,
        used_at=slot.used_at,
        to=None,
    )


def _route(route: str | None) -> t.RouteScope | None:
    return None if route is None else codec.decode(route.encode(), t.RouteScope)
