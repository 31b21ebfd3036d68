"""Searches of the two methods: what a lane reads, and how its answer gets back to the call.

A search holds no handler: the call is handed to a lane, which answers it. Everything here runs on
a lane's thread, in one read transaction, but for `ask`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from efr.base.clock import Clock
from efr.daemon.errors import error_body
from efr.daemon.recent import Asker, Machine, recent, recent_row
from efr.store import queries
from efr.store.search.documents import DocKind
from efr.store.search.find import FoundConversation, Hit, find_conversations, find_inside
from efr.store.search.lines import Line
from efr.store.search.short import short_id
from efr.store.search.state import percent
from efr.text.query import Item
from efr.text.redact import redact_title
from efr.threads import search_lanes as lanes
from efr.threads.requests import LATER, Call, Later
from efr.threads.search_lanes import SearchLanes
from efr.wire import codec
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse

_KINDS: dict[int | None, t.SearchKind] = {
    None: t.SearchKind.TITLE,
    DocKind.PROMPT: t.SearchKind.PROMPT,
    DocKind.STEER: t.SearchKind.PROMPT,
    DocKind.ANSWER: t.SearchKind.ANSWER,
    DocKind.COMMAND: t.SearchKind.COMMAND,
}


class Searched(Struct, frozen=True):
    """A search of all conversations. Without items it is the recent list. `limit` is in bounds."""

    items: Sequence[Item]
    limit: int
    stats: bool


class Searches(Struct, frozen=True):
    """The lanes, and what a search says of the index. `building`: the backfill runs."""

    lanes: SearchLanes
    building: Callable[[], bool]
    clock: Clock

    def ask(self, call: Call, search: Callable[[Any], Any]) -> Later:
        """Answers the call with what `search(connection)` returns, from a lane. A newer call of
        the same method on the same connection takes the place of one that waits. Raises StoreBusy
        when too many wait."""
        asking = lanes.Asker((call.peer.connection_id, call.method.name), call.number)
        self.lanes.ask(asking, search, call.cancel).add_done_callback(partial(_answer, call))
        return LATER

    def conversations(
        self, asked: Searched, asker: Asker, machine: Machine, conn: Any
    ) -> m.ConversationsSearchResult:
        """The conversations that match, best first. Scope and current are those of the list."""
        began = self.clock.monotonic()
        listed = recent(asker, machine, conn)
        result = m.ConversationsSearchResult(
            rows=(), scope=listed.scope, current=listed.current, index=self._index(conn)
        )
        stats = t.SearchStats(0, 0, 0, 0)
        if asked.items:
            found = find_conversations(conn, asked.items, asked.limit, self.clock)
            rows = _rows(found.rows, asker.tty, machine, conn)
            result = replace(result, rows=rows, partial=_partial(found.partial))
            stats = t.SearchStats(
                found.rows_scanned, found.conversations_scored, found.titles_scored, 0
            )
        else:
            rows = tuple(
                t.SearchRow(row, short_id(conn, row.summary.id)) for row in listed.conversations
            )
            result = replace(result, rows=rows)
        if asked.stats:
            elapsed_us = round((self.clock.monotonic() - began) * 1_000_000)
            result = replace(result, stats=replace(stats, elapsed_us=elapsed_us))
        return result

    def inside(
        self, conversation_id: str, items: Sequence[Item], limit: int, conn: Any
    ) -> m.ConversationSearchResult:
        """Where one conversation matches, newest first. Raises Refusal for an unknown one."""
        row = queries.conversation(conn, conversation_id)
        if row is None:
            raise refuse(t.ErrorCode.NOT_FOUND, f"there is no conversation {conversation_id}")
        found = find_inside(conn, conversation_id, items, limit, self.clock)
        return m.ConversationSearchResult(
            hits=tuple(map(_hit, found.hits)),
            title=None if row.title is None else redact_title(row.title),
            partial=_partial(found.partial),
        )

    def _index(self, conn: Any) -> t.SearchIndex | None:
        return t.SearchIndex(percent(conn)) if self.building() else None


def _answer(call: Call, reply: Future[Any]) -> None:
    """On the lane's thread, or where the search was replaced or cancelled."""
    exc = reply.exception()
    if exc is not None:
        call.finish(error_body(call.method.name, exc))
    else:
        call.finish(codec.encode(reply.result()))


def _rows(
    found: Sequence[FoundConversation], tty: str | None, machine: Machine, conn: Any
) -> tuple[t.SearchRow, ...]:
    turns = queries.prompt_turns(conn, [one.conversation_id for one in found])
    rows = []
    for one in found:
        stored = queries.conversation(conn, one.conversation_id)
        if stored is None:
            continue
        if one.title is not None:  # the index's own, with its secrets replaced: it has the marks
            stored = replace(stored, title=None)
        shown = recent_row(stored, turns.get(stored.id, 0), tty, machine)
        if one.title is not None:
            shown = replace(shown, summary=replace(shown.summary, title=one.title))
        rows.append(
            t.SearchRow(
                conversation=shown,
                short_id=short_id(conn, stored.id),
                title_ranges=_ranges(one.title_ranges),
                hit=_hit(one.hit),
            )
        )
    return tuple(rows)


def _hit(hit: Hit) -> t.SearchHit:
    return t.SearchHit(
        kind=_KINDS.get(hit.kind, t.SearchKind.UNKNOWN),
        seq=hit.seq,
        turn_id=hit.turn_id,
        at=t.time_from_us(hit.at_us),
        history_cursor=f"s:{hit.seq + 1}",  # the page below it ends with the hit
        lines=tuple(map(_line, hit.lines)),
    )


def _line(line: Line) -> t.SearchLine:
    return t.SearchLine(line.text, _ranges(line.ranges))


def _ranges(ranges: Sequence[tuple[int, int]]) -> tuple[t.Range, ...]:
    return tuple(t.Range(start, end) for start, end in ranges)


def _partial(why: str | None) -> t.SearchPartial | None:
    return None if why is None else t.SearchPartial(why)
