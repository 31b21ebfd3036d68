"""Pages of the index: read from the log by the indexer's connection, written by the store-writer.

A page is short on purpose: its job is one of many that the writer does beside the turns' batches.
The cursor moves in the transaction that writes the page, so a stop loses a page and never doubles
one. Reads and cleans: `read_page`. Writes: `write_page`, `merge_step`.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from efr.store.db import Connection
from efr.store.history import high_water
from efr.store.search.documents import KINDS, DocKind, document
from efr.store.search.state import state
from efr.text.indexed import TEXT_LIMIT, title_in


class Limits(Struct, frozen=True, gc=False):
    """What a page holds at most."""

    texts: int = 32
    size_bytes: int = TEXT_LIMIT  # of text as it is indexed
    events: int = 20_000  # looked at: a log with few texts costs no long read


# While a turn runs a page is a quarter: writing one then keeps the turn's batch waiting for less.
WHOLE: Final = Limits()
BESIDE_A_TURN: Final = Limits(texts=8, size_bytes=TEXT_LIMIT // 4)

MERGE_PAGES: Final = 64  # leaves of 1,000 bytes that one step writes at most


class Doc(Struct, frozen=True, gc=False):
    """A text of the index."""

    seq: int
    conversation_id: str
    kind: int
    text: str


class Page(Struct, frozen=True):
    """What stands in the log above `after` and up to `upto`."""

    after: int
    upto: int
    docs: tuple[Doc, ...]


_EVENTS: Final = f"""
SELECT seq, conversation_id, kind, payload FROM events
WHERE seq > ? AND seq <= ? AND conversation_id IS NOT NULL
    AND kind IN ({", ".join(f"'{kind}'" for kind in sorted(KINDS))})
    AND conversation_id NOT IN (SELECT conversation_id FROM conversation_deletes)
ORDER BY seq
"""


def read_page(conn: Connection, after: int, limits: Limits = WHOLE) -> Page | None:
    """The next page above a cursor, cleaned and redacted; None when nothing is above it.

    In one read transaction. Takes milliseconds, of the processor more than of the disk.
    """
    newest = high_water(conn)
    if newest <= after:
        return None
    upto = min(newest, after + limits.events)
    docs: list[Doc] = []
    size = 0
    rows = conn.execute(_EVENTS, (after, upto))
    for seq, conversation_id, kind, payload in rows:
        found = document(kind, payload.encode())
        if found is None:
            continue
        doc_kind, text = found
        size += len(text.encode())
        if docs and size > limits.size_bytes:
            upto = docs[-1].seq
            break
        docs.append(Doc(seq, conversation_id, doc_kind, text))
        if len(docs) == limits.texts:
            upto = seq
            break
    rows.close()
    return Page(after, upto, tuple(docs))


def write_page(conn: Connection, page: Page) -> bool:
    """A writer job. False, and nothing is written, when the index is not where the page begins.

    What was deleted since the page was read stays out.
    """
    if state(conn).indexed_seq != page.after:
        return False
    gone = {doc.conversation_id for doc in page.docs if _was_deleted(conn, doc.conversation_id)}
    docs = [doc for doc in page.docs if doc.conversation_id not in gone]
    conn.executemany(
        "INSERT INTO search_docs (seq, conversation_id, kind, text) VALUES (?, ?, ?, ?)",
        [(doc.seq, doc.conversation_id, doc.kind, doc.text) for doc in docs],
    )
    conn.executemany(
        "INSERT INTO search_fts (rowid, text) VALUES (?, ?)", [(doc.seq, doc.text) for doc in docs]
    )
    conn.executemany(
        "INSERT INTO search_titles (conversation_id, title, first_seq) VALUES (?, ?, ?)"
        " ON CONFLICT DO NOTHING",
        [
            (doc.conversation_id, title, doc.seq)
            for doc in docs
            if doc.kind == DocKind.PROMPT and (title := title_in(doc.text))
        ],
    )
    conn.execute("UPDATE search_state SET indexed_seq = ?", (page.upto,))
    return True


def merge_step(conn: Connection) -> bool:
    """A writer job: one step of merging the index's segments. False: there was no work.

    Source: sqlite.org/fts5.html, "The 'merge' Command".
    """
    before = conn.total_changes()
    conn.execute("INSERT INTO search_fts (search_fts, rank) VALUES ('merge', ?)", (MERGE_PAGES,))
    return conn.total_changes() - before >= 2


def _was_deleted(conn: Connection, conversation_id: str) -> bool:
    found: Any = conn.execute(
        "SELECT 1 FROM conversation_deletes WHERE conversation_id = ?", (conversation_id,)
    ).fetchone()
    return found is not None
