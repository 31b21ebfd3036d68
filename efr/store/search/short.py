"""Short ids: the shortest start of a conversation's id that names it alone."""

from __future__ import annotations

from typing import Any, Final

from efr.store.db import Connection

LEAST: Final = 8  # characters: the time part of an id, which a person can still type


def short_id(conn: Connection, conversation_id: str) -> str:
    """At least 8 characters. Its neighbours in the order of ids are the ones most like it."""
    below: Any = conn.execute("SELECT max(id) FROM conversations WHERE id < ?", (conversation_id,))
    above: Any = conn.execute("SELECT min(id) FROM conversations WHERE id > ?", (conversation_id,))
    shared = max(_shared(conversation_id, one.get or "") for one in (below, above))
    return conversation_id[: max(LEAST, shared + 1)]


def _shared(one: str, other: str) -> int:
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(other))
