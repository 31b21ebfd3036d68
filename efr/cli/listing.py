"""The rows to choose from: the recent conversations, or those that a search found, best first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from efr.cli.render.conversations import Listed
from efr.client.connection import Connection
from efr.client.errors import Refused
from efr.wire import methods as m
from efr.wire import types as t

RECENT = 20  # one screen


class Listing(NamedTuple):
    """Rows, how far the index is built, and why a search ended early."""

    listed: list[Listed]
    built: t.SearchIndex | None = None
    partial: t.SearchPartial | None = None

    @property
    def ids(self) -> list[str]:
        return [one.row.summary.id for one in self.listed]


def search(connection: Connection, words: str, limit: int, members: Mapping[str, Any]) -> Listing:
    """What `conversations.search` finds. `members`: the asking terminal and its directory."""
    found: m.ConversationsSearchResult = connection.call(
        "conversations.search", query=words, limit=limit, **members
    )
    listed = [
        Listed(one.conversation, one.title_ranges, one.short_id, one.hit) for one in found.rows
    ]
    return Listing(listed, found.index, found.partial)


def recent(connection: Connection, members: Mapping[str, Any]) -> Listing:
    """The recent conversations, those of the directory's scope first.

    An empty search gives them with the state of the index; where no search is allowed or known,
    the plain list does.
    """
    try:
        return search(connection, "", RECENT, members)
    except Refused:
        found: m.ConversationsRecentResult = connection.call(
            "conversations.recent", limit=RECENT, **members
        )
        return Listing([Listed(one) for one in found.conversations])
