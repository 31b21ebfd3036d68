"""Best first: how well a text matches, times what kind of text it is.

A document's relevance is FTS5's bm25; a title is in no FTS table, so its relevance is computed here
by the same formula from the same counts. A conversation ranks by its best hit; of equal ones the
newer hit wins. Scores are those of FTS5: the lower the better, and none is above 0. Source of the
formula and its constants: sqlite.org/fts5.html, "The bm25() function". Pure but for `corpus`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from efr.store.db import Connection
from efr.store.search.documents import DocKind

# Title before prompt and steer before answer before command, at equal relevance. Small factors: a
# text that matches clearly better still comes first, whatever it is.
TITLE_WEIGHT: Final = 2.0
WEIGHTS: Final[dict[DocKind, float]] = {
    DocKind.PROMPT: 1.6,
    DocKind.STEER: 1.6,
    DocKind.ANSWER: 1.25,
    DocKind.COMMAND: 1.0,
}

_K1: Final = 1.2
_B: Final = 0.75
_LEAST_IDF: Final = 1e-6  # of a word in more than half of all documents


class Candidate(Struct, frozen=True, gc=False):
    """A hit of a conversation. `kind` is None for its title; `seq` is the event's number."""

    conversation_id: str
    kind: int | None
    seq: int
    score: float


class Corpus(Struct, frozen=True):
    """What bm25 needs to know of the index; `holding`: documents that hold each item."""

    documents: int
    words: int
    holding: tuple[int, ...]


def title_score(corpus: Corpus, counts: Sequence[int], length: int) -> float:
    """`counts`: how often the title holds each item; `length`: its words."""
    average = corpus.words / corpus.documents if corpus.documents else 1.0
    damped = _K1 * (1 - _B + _B * length / max(average, 1.0))
    total = 0.0
    for count, holding in zip(counts, corpus.holding, strict=True):
        idf = max(_LEAST_IDF, math.log((corpus.documents - holding + 0.5) / (holding + 0.5)))
        total += idf * count * (_K1 + 1) / (count + damped)
    return -total * TITLE_WEIGHT


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The best hit of each conversation, the best conversation first."""
    best: dict[str, Candidate] = {}
    for one in candidates:
        other = best.get(one.conversation_id)
        if other is None or _key(one) < _key(other):
            best[one.conversation_id] = one
    return sorted(best.values(), key=_key)


def _key(one: Candidate) -> tuple[float, int]:
    return (one.score, -one.seq)


def corpus(conn: Connection, matches: Iterable[str]) -> Corpus:
    """Counts of the whole index for items as FTS5 reads them. An item in more than half of all
    documents weighs nothing, so its count may stop there."""
    documents, words = _size(conn)
    counting = "SELECT count(*) FROM (SELECT 1 FROM search_fts WHERE search_fts MATCH ? LIMIT ?)"
    most = documents // 2 + 1
    holding = tuple(int(conn.execute(counting, (match, most)).get) for match in matches)
    return Corpus(documents, words, holding)


def _size(conn: Connection) -> tuple[int, int]:
    """Documents and words, from the index's own totals (fts5_index.c, "averages record"): the
    count of rows, then the words of each column, as SQLite's variable-length integers."""
    block: Any = conn.execute("SELECT block FROM search_fts_data WHERE id = 1").get
    if not block:
        return 0, 0
    documents, at = _varint(block, 0)
    words, _ = _varint(block, at)
    return documents, words


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The value and where the next one starts. Source: sqlite.org/fileformat2.html#varint."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | data[place] & 0x7F
        if data[place] < 0x80:
            return value, place + 1
    return value << 8 | data[at + 8], at + 9
