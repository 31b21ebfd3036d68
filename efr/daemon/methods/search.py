"""The two methods that search. A peer that the model's commands started never gets here."""

from __future__ import annotations

from functools import partial

from efr.daemon.recent import Asker, Machine
from efr.daemon.rooms import Rooms
from efr.daemon.searching import Searched
from efr.text.query import BadQuery, Item, parse_query
from efr.threads.requests import Call, Later
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse

LIST, LIST_MOST = 50, 200  # docs/protocol.md, "conversations.search"
HITS, HITS_MOST = 20, 50  # docs/protocol.md, "conversation.search"


def conversations_search(rooms: Rooms, params: m.ConversationsSearchParams, call: Call) -> Later:
    """The conversations that match, best first; the recent list for an empty query."""
    items = _items(params.query)
    limit = _limit(params.limit, LIST, LIST_MOST)
    asked = Searched(items, limit, params.stats)
    places = rooms.projects.places
    place = places.of(params.pwd) if params.pwd is not None else None
    tty = None if call.peer.remote else params.tty
    listed = 1 if items else limit  # a search shows no row of the recent list
    asker = Asker(tty, params.pwd, place, listed)
    machine = Machine(places.projects.all(), rooms.agent.is_held)
    return rooms.searches.ask(call, partial(rooms.searches.conversations, asked, asker, machine))


def conversation_search(rooms: Rooms, params: m.ConversationSearchParams, call: Call) -> Later:
    """Where a conversation matches, newest first; its newest texts for an empty query."""
    items = _items(params.query)
    limit = _limit(params.limit, HITS, HITS_MOST)
    inside = partial(rooms.searches.inside, params.conversation_id, items, limit)
    return rooms.searches.ask(call, inside)


def _items(query: str) -> tuple[Item, ...]:
    try:
        return parse_query(query)
    except BadQuery as exc:
        raise refuse(t.ErrorCode.INVALID, str(exc)) from exc


def _limit(asked: int | None, usual: int, most: int) -> int:
    if asked is None:
        return usual
    if asked < 1:
        raise refuse(t.ErrorCode.INVALID, "a search has at least 1 row")
    return min(asked, most)
