"""How far the index is, with which redaction it was made, and the connection that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from efr.store import db
from efr.store.db import Connection
from efr.store.history import high_water
from efr.text.redact import REDACTION_VERSION

# Page cache of each search lane and of the index reader: enough for the inner pages of the index.
# The writer and the readers keep SQLite's own 2 MB. With a SQLite that puts the caches of all
# connections in one group this is no hard cap: a lane then also uses what the others leave.
CACHE_KIB: Final = 512


class SearchState(Struct, frozen=True, gc=False):
    """`indexed_seq`: every event up to it is in the index, as far as it belongs there."""

    indexed_seq: int
    redaction_version: int


def open_for_search(path: Path) -> Connection:
    """A read-only connection for a search lane or the indexer; the database must exist."""
    conn = db.open(path, read_only=True)
    conn.pragma("cache_size", -CACHE_KIB)
    return conn


def state(conn: Connection) -> SearchState:
    """The one row."""
    row: Any = conn.execute("SELECT indexed_seq, redaction_version FROM search_state").fetchone()
    return SearchState(*row)


def prepare(conn: Connection, version: int = REDACTION_VERSION) -> bool:
    """At a start, before anybody searches: empties an index that another redaction made, in one
    transaction; says whether it did. The indexer then begins with the first event again."""
    with db.translated(db.path_of(conn), conn):
        if state(conn).redaction_version == version:
            return False
        db.transact(conn, lambda: _empty(conn, version))
    return True


def _empty(conn: Connection, version: int) -> None:
    conn.execute("INSERT INTO search_fts (search_fts) VALUES ('delete-all')")
    conn.execute("DELETE FROM search_docs")
    conn.execute("DELETE FROM search_titles")
    conn.execute("UPDATE search_state SET indexed_seq = 0, redaction_version = ?", (version,))


def percent(conn: Connection) -> int:
    """How much of the log the indexer has read: 0 to 99, for as long as it is not through."""
    newest = high_water(conn)
    return min(99, state(conn).indexed_seq * 100 // newest) if newest else 99
