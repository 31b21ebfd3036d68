"""A search query as a person types it: words, and phrases in double quotes.

Pure. Nothing in a query is an operator. Facts: docs/conversations.md, "What the search finds".
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

QUERY_LIMIT: Final = 256  # characters
ITEM_LIMIT: Final = 16  # words and phrases
PREFIX_FROM: Final = 3  # characters of the last word; the index has a prefix table for three

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# A phrase; a quote without its other half is a blank, as it is while somebody types.
_ITEM = re.compile(r'"([^"]*)"|([^\s"]+)')


class BadQuery(Exception):
    """The query is over a limit: `limit` of these `units`."""

    def __init__(self, limit: int, units: str) -> None:
        super().__init__(f"a query has at most {limit} {units}")
        self.limit = limit
        self.units = units


class Item(Struct, frozen=True):
    """A word or a phrase. `last_word`: it also matches as the start of a word."""

    text: str
    last_word: bool = False


def parse_query(text: str) -> tuple[Item, ...]:
    """The items; every one has to match. None for a blank query. Raises BadQuery."""
    if len(text) > QUERY_LIMIT:
        raise BadQuery(QUERY_LIMIT, "characters")
    found = list(_ITEM.finditer(_CONTROLS.sub(" ", text)))
    words = [(match[2] is not None, match[2] or match[1].strip()) for match in found]
    items = [(is_word, word) for is_word, word in words if word]
    if len(items) > ITEM_LIMIT:
        raise BadQuery(ITEM_LIMIT, "words and phrases")
    last = len(items) - 1
    return tuple(Item(word, is_word and n == last) for n, (is_word, word) in enumerate(items))
