"""One search: which conversations match, or where one of them does.

For a search lane: each function runs in one read transaction, looks at no more than the caps say,
and tells when it stopped early. The long part is a few statements that SQLite runs whole, so a
search seldom holds the interpreter's lock beside a turn. What a client may ask, and how a row
looks, is decided above.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from msgspec import Struct

from efr.base.clock import Clock
from efr.store.db import Connection
from efr.store.search.caps import ROW_CAP, TITLE_CAP, Cap
from efr.store.search.documents import DocKind
from efr.store.search.lines import Line, first_lines, matching_lines, merged
from efr.store.search.ranking import WEIGHTS, Candidate, best_first, corpus, title_score
from efr.store.search.words import Range, Words
from efr.text.query import Item

LINES: Final = 3  # of a hit in the list of conversations, which shows one
PREVIEW_LINES: Final = 5  # of a hit in a preview


class Hit(Struct, frozen=True, gc=False):
    """Where it matched. `kind` is None for the title; `seq` and `at_us` are the event's."""

    kind: int | None
    seq: int
    turn_id: str | None
    at_us: int
    lines: tuple[Line, ...]


class FoundConversation(Struct, frozen=True, gc=False):
    """A conversation that matches. `title` is that of the index; None when it has none."""

    conversation_id: str
    title: str | None
    title_ranges: tuple[Range, ...]
    hit: Hit


class Found(Struct, frozen=True):
    """The best conversations, best first. partial: None, `row_cap` or `time_cap`.

    `conversations_scored`: those with a document that matches, within the caps.
    """

    rows: tuple[FoundConversation, ...] = ()
    partial: str | None = None
    rows_scanned: int = 0
    conversations_scored: int = 0
    titles_scored: int = 0


class FoundInside(Struct, frozen=True):
    """The hits in one conversation, newest first."""

    hits: tuple[Hit, ...] = ()
    partial: str | None = None


def find_conversations(conn: Connection, items: Sequence[Item], limit: int, clock: Clock) -> Found:
    """The best `limit` conversations."""
    words = Words(conn, items)
    if not words.wanted:
        return Found()
    cap = Cap(clock)
    rows = _documents(conn, words, limit, cap)
    scanned, scored = rows[0][4:] if rows else (0, 0)
    if scanned > ROW_CAP:
        cap.partial = "row_cap"
    titles, looked_at = _titles(conn, words, cap)
    best = best_first([*(Candidate(*row[:4]) for row in rows), *titles])[:limit]
    return Found(
        tuple(_shown(conn, words, best)),
        cap.partial,
        min(scanned, ROW_CAP),
        scored,
        looked_at,
    )


# The FTS table leads: looked up by number for each document, it would read its lists each time.
_HITS: Final = f"""
SELECT doc.seq AS seq, doc.conversation_id AS conversation_id, doc.kind AS kind,
    {{score}} * CASE doc.kind
        {" ".join(f"WHEN {int(kind)} THEN {weight}" for kind, weight in WEIGHTS.items())}
    END AS score
FROM search_fts CROSS JOIN search_docs AS doc ON doc.seq = search_fts.rowid
WHERE search_fts MATCH ? ORDER BY search_fts.rowid DESC LIMIT {ROW_CAP + 1}
"""
_BEST: Final = """
WITH hits AS MATERIALIZED (
{hits}
), ranked AS (
    SELECT *, count(*) OVER () AS scanned,
        row_number() OVER (PARTITION BY conversation_id ORDER BY score, seq DESC) AS place
    FROM hits
)
SELECT conversation_id, kind, seq, score, scanned, count(*) OVER () FROM ranked
WHERE place = 1 AND EXISTS (SELECT 1 FROM conversations WHERE id = conversation_id)
ORDER BY score, seq DESC LIMIT ?
"""
_BY_RELEVANCE: Final = _BEST.format(hits=_HITS.format(score="bm25(search_fts)"))
_BY_KIND: Final = _BEST.format(hits=_HITS.format(score="-1.0"))


def _documents(conn: Connection, words: Words, limit: int, cap: Cap) -> list[Any]:
    """The best document of each of the best conversations, of the newest that match. When there
    is no time to weigh them, the best kinds and then the newest."""
    rows = _statement(conn, _BY_RELEVANCE, (words.match, limit), cap)
    if rows is None:
        rows = _statement(conn, _BY_KIND, (words.match, limit), Cap(cap.clock))
    return rows or []


def _statement(
    conn: Connection, sql: str, values: tuple[str | int, ...], cap: Cap
) -> list[Any] | None:
    """Its rows; None when the time was up."""
    rows: list[Any] | None = None
    with cap.on(conn):
        rows = conn.execute(sql, values).fetchall()
    return rows


def _titles(conn: Connection, words: Words, cap: Cap) -> tuple[list[Candidate], int]:
    """The titles that match, of the newest that may, and how many titles there are.

    A title stands in its first prompt too, so one that is not looked at is still found there.
    """
    found: list[Candidate] = []
    totals = None
    # SQLite's lower() and its ranges know ASCII alone; other titles (more bytes than letters) come
    # as they are.
    holds = " AND ".join(_HOLDS for _ in words.wanted)
    rows: Any = conn.execute(
        "SELECT conversation_id, title, first_seq FROM search_titles"
        f" WHERE (({holds}) OR octet_length(title) > length(title))"
        " AND EXISTS (SELECT 1 FROM conversations WHERE id = conversation_id)"
        f" ORDER BY first_seq DESC LIMIT {TITLE_CAP}",
        [value for one in words.wanted for value in (one.words[0], one.glob)],
    ).fetchall()
    for conversation_id, title, first_seq in rows:
        if counts := words.counts(title):
            if cap.over():
                cap.partial = "time_cap"
                break
            totals = totals or corpus(conn, (one.match for one in words.wanted))
            score = title_score(totals, counts, words.count(title))
            found.append(Candidate(conversation_id, None, first_seq, score))
    return found, int(conn.execute("SELECT count(*) FROM search_titles").get)


# GLOB alone would try a word at each place of each title.
_HOLDS: Final = "CASE WHEN instr(lower(title), ?) THEN ' ' || lower(title) || ' ' GLOB ? ELSE 0 END"

_SHOWN: Final = """
SELECT events.seq, events.turn_id, events.created_at, doc.text, titles.title
FROM json_each(?) AS wanted CROSS JOIN events ON events.seq = wanted.value
LEFT JOIN search_docs AS doc ON doc.seq = events.seq
LEFT JOIN search_titles AS titles ON titles.conversation_id = events.conversation_id
"""


def _shown(
    conn: Connection, words: Words, best: Sequence[Candidate]
) -> Iterator[FoundConversation]:
    facts = _facts(conn, (one.seq for one in best))
    for one in best:
        if (row := facts.get(one.seq)) is None:
            continue
        _, turn_id, at_us, text, title = row
        ranges = merged(r for item in words.ranges(title or "") for r in item)
        if one.kind is None:
            lines: tuple[Line, ...] = (Line(title or "", ranges),)
        else:
            lines = matching_lines(words, text, LINES)
        hit = Hit(one.kind, one.seq, turn_id, at_us, lines)
        yield FoundConversation(one.conversation_id, title, ranges, hit)


def _facts(conn: Connection, seqs: Iterable[int]) -> dict[int, Any]:
    """By number: what `_SHOWN` selects."""
    rows: Any = conn.execute(_SHOWN, (json.dumps(list(seqs)),)).fetchall()
    return {row[0]: row for row in rows}


def find_inside(
    conn: Connection, conversation_id: str, items: Sequence[Item], limit: int, clock: Clock
) -> FoundInside:
    """The newest `limit` places where a conversation matches; with no items its newest texts."""
    if not items:
        newest = conn.execute(_NEWEST, (conversation_id, DocKind.COMMAND, limit)).fetchall()
        return FoundInside(tuple(_hits(conn, newest, _beginning)))
    words = Words(conn, items)
    if not words.wanted:
        return FoundInside()
    cap = Cap(clock)
    rows, scanned = _inside(conn, conversation_id, words, limit, cap)
    if scanned > ROW_CAP and len(rows) < limit:
        cap.partial = "row_cap"
    marked = partial(matching_lines, words, most=PREVIEW_LINES)
    return FoundInside(tuple(_hits(conn, rows, marked)), cap.partial)


_NEWEST: Final = """
SELECT seq, kind FROM search_docs WHERE conversation_id = ? AND kind <> ?
ORDER BY seq DESC LIMIT ?
"""

# Only between the first and the last text of the conversation; others may have texts there too.
_INSIDE: Final = f"""
WITH bounds AS (
    SELECT min(seq) AS first, max(seq) AS last FROM search_docs WHERE conversation_id = ?1
), hits AS MATERIALIZED (
    SELECT doc.seq AS seq, doc.conversation_id AS conversation_id, doc.kind AS kind
    FROM bounds CROSS JOIN search_fts CROSS JOIN search_docs AS doc ON doc.seq = search_fts.rowid
    WHERE search_fts MATCH ?2 AND search_fts.rowid BETWEEN first AND last
    ORDER BY search_fts.rowid DESC LIMIT {ROW_CAP + 1}
)
SELECT count(*), NULL FROM hits
UNION ALL
SELECT * FROM (
    SELECT seq, kind FROM hits WHERE conversation_id = ?1 ORDER BY seq DESC LIMIT ?3
)
"""


def _inside(
    conn: Connection, conversation_id: str, words: Words, limit: int, cap: Cap
) -> tuple[list[Any], int]:
    """(number, kind) of the newest texts that match, and how many rows were looked at."""
    rows = _statement(conn, _INSIDE, (conversation_id, words.match, limit), cap)
    return (rows[1:], rows[0][0]) if rows else ([], 0)


def _hits(
    conn: Connection, rows: Sequence[Any], lines: Callable[[str], tuple[Line, ...]]
) -> Iterator[Hit]:
    facts = _facts(conn, (seq for seq, _ in rows))
    for seq, kind in rows:
        if (row := facts.get(seq)) is not None:
            _, turn_id, at_us, text, _ = row
            yield Hit(kind, seq, turn_id, at_us, lines(text))


def _beginning(text: str) -> tuple[Line, ...]:
    return first_lines(text, PREVIEW_LINES)
