"""Searches over a small store: what is found, in which order, and within which caps."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from efr.store.search import caps
from efr.store.search.documents import DocKind
from efr.store.search.find import find_conversations
from efr.store.search.lines import Line
from efr.store.search.state import open_for_search
from efr.text.query import parse_query
from tests.harness.clock import FakeClock
from tests.search.samples import Store, a_store


def test_every_word_must_stand_in_one_text(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        split = store.conversation("the disk")
        store.answer(split, "it is full")
        whole = store.conversation("the disk is full")
        store.index()
        assert store.ids("disk full") == [whole]
        assert set(store.ids("disk")) == {split, whole}


def test_a_phrase_stands_together(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        apart = store.conversation("the disk that is full")
        together = store.conversation("a disk full of logs")
        store.index()
        assert store.ids('"disk full"') == [together]
        assert set(store.ids("disk full")) == {apart, together}


def test_the_last_word_is_a_start_from_three_characters(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("why is that")
        store.answer(one, "größe 🙂 gut")
        store.index()
        assert store.ids("groß") == store.ids("grö") == store.ids("gro") == [one]
        assert store.ids("gr") == store.ids("grosse") == []
        assert store.ids("grö gut") == []  # only the last one
        (row,) = store.find("gut").rows
        assert row.hit.lines == (Line("größe 🙂 gut", ((8, 11),)),)


def test_a_run_of_signs_without_a_blank_is_one_word_and_most_emoji_none(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("今日は良い天気です 🔥 ☕")
        store.index()
        assert store.ids("今日は良い天気です") == store.ids("今日は") == [one]
        for text in ("天気", "🔥", "☕"):
            assert store.ids(text) == [], text


def test_nothing_in_a_query_is_an_operator(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("a or b near the column:text")
        store.index()
        for query in ('a" OR *', "a OR b", 'column:text"', "NEAR(a", "-b", "^a", "a*", "{x}: a)"):
            found = store.ids(query)
            assert found in ([], [one]), query
        assert store.ids('a" OR *') == [one]
        assert store.ids("a NOT b") == []


def test_a_query_without_a_word_finds_nothing(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.conversation("something")
        store.index()
        assert store.find("*** --").rows == ()


# At equal relevance: the same words, in texts of one length, once in each kind.
ORDER = (None, DocKind.PROMPT, DocKind.ANSWER, DocKind.COMMAND)


def corpus_of_kinds(store: Store) -> dict[str, int | None]:
    """Conversations that say `needle here` in one kind of text each, the worst one last; with
    enough other texts that the word is rare."""
    for number in range(40):
        store.conversation(f"other matter number {number}")
    said: dict[str, int | None] = {}
    said[store.conversation("needle here")] = None
    later = store.conversation("plain start", "needle here")
    said[later] = DocKind.PROMPT
    steered = store.conversation("plain start")
    store.steer(steered, "needle here")
    said[steered] = DocKind.STEER
    answered = store.conversation("plain start")
    store.answer(answered, "needle here")
    said[answered] = DocKind.ANSWER
    ran = store.conversation("plain start")
    store.command(ran, "needle here")
    said[ran] = DocKind.COMMAND
    store.index()
    return said


def test_title_before_prompt_and_steer_before_answer_before_command(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        said = corpus_of_kinds(store)
        rows = store.find("needle").rows
        assert [said[row.conversation_id] for row in rows] == [
            None,
            DocKind.STEER,  # newer than the prompt, and as good
            DocKind.PROMPT,
            DocKind.ANSWER,
            DocKind.COMMAND,
        ]
        assert [row.hit.kind for row in rows] == [said[row.conversation_id] for row in rows]


def test_a_conversation_ranks_by_its_best_hit(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        said = corpus_of_kinds(store)
        worst = next(one for one, kind in said.items() if kind == DocKind.COMMAND)
        store.prompt(worst, "needle here")
        store.index()
        best = store.find("needle").rows[1]
        assert (best.conversation_id, best.hit.kind) == (worst, DocKind.PROMPT)


def test_of_equal_hits_the_newer_one_comes_first(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        older, newer = store.conversation("the needle"), store.conversation("the needle")
        store.index()
        assert store.ids("needle") == [newer, older]


def test_a_rarer_word_counts_more_than_the_kind(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        for number in range(30):
            store.conversation(f"common matter {number}")
        long = store.conversation("common " * 40 + "needle")
        ran = store.conversation("plain")
        store.command(ran, "needle needle")
        store.index()
        assert store.ids("needle") == [ran, long]


def test_a_hit_says_where_it_is(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("plain start")
        store.clock.advance(60)
        seq = store.command(one, "rsync -a ~/photos laptop:")
        store.index()
        (row,) = store.find("photos").rows
        event = store.conn.execute("SELECT turn_id, created_at FROM events WHERE seq = ?", (seq,))
        hit = row.hit
        assert (hit.kind, hit.seq, (hit.turn_id, hit.at_us)) == (
            DocKind.COMMAND,
            seq,
            event.fetchone(),
        )
        assert (row.title, row.title_ranges) == ("plain start", ())


def test_the_title_is_marked_with_what_it_holds_of_the_query(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("copy the photos")
        store.answer(one, "copied the photos with rsync")
        store.index()
        (row,) = store.find("rsync photos").rows
        assert (row.title, row.title_ranges) == ("copy the photos", ((9, 15),))
        assert row.hit.kind == DocKind.ANSWER
        assert row.hit.lines[0].ranges == ((11, 17), (23, 28))


def test_a_title_hit(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.conversation("größe of the photos\nand more words about other things")
        store.index()
        (row,) = store.find("photos").rows
        assert row.hit.kind is None
        assert row.hit.lines == (Line("größe of the photos", ((13, 19),)),)
        assert row.title_ranges == ((13, 19),)


def test_a_deleted_conversation_is_not_found(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        gone = store.conversation("the needle")
        store.index()
        store.delete(gone)
        assert len(store.docs()) == 1  # its rows go later
        assert store.ids("needle") == []


def test_the_limit_cuts_the_worst(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        ids = [store.conversation("the needle") for _ in range(5)]
        store.index()
        found = store.find("needle", 2)
        assert [row.conversation_id for row in found.rows] == [ids[4], ids[3]]
        assert found.partial is None
        assert (found.rows_scanned, found.conversations_scored, found.titles_scored) == (5, 5, 5)


def test_a_very_common_word_stops_at_the_row_cap(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("start")
        texts = [(seq, one, DocKind.ANSWER, "the") for seq in range(100, 100 + caps.ROW_CAP + 5)]
        store.conn.executemany("INSERT INTO search_docs VALUES (?, ?, ?, ?)", texts)
        store.conn.execute("INSERT INTO search_fts (search_fts) VALUES ('rebuild')")
        found = store.find("the")
        assert (found.partial, found.rows_scanned) == ("row_cap", caps.ROW_CAP)
        assert store.inside(one, "the", 20).partial is None


class Hasty(FakeClock):
    """Every look at it takes a second."""

    def monotonic(self) -> float:
        self.advance(1)
        return super().monotonic()


def test_a_search_that_takes_too_long_says_so(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("start")
        rows = [(seq, one, DocKind.ANSWER, "word") for seq in range(100, 3000)]
        store.conn.executemany("INSERT INTO search_docs VALUES (?, ?, ?, ?)", rows)
        store.conn.execute("INSERT INTO search_fts (search_fts) VALUES ('rebuild')")
        with closing(open_for_search(store.path)) as conn:
            found = find_conversations(conn, parse_query("word"), 50, Hasty())
            assert (found.partial, found.rows) == ("time_cap", ())
            # The connection is as before.
            assert len(find_conversations(conn, parse_query("word"), 50, FakeClock()).rows) == 0
            assert conn.execute("SELECT count(*) FROM search_docs").get == 2900


class Slow(FakeClock):
    """The first search on it is over its time; the second look finds time again."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    def monotonic(self) -> float:
        self._looks -= 1
        if self._looks == 0:
            self.advance(1)
        return super().monotonic()


def test_without_time_to_weigh_them_the_newest_are_found(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        first, second = store.conversation("start"), store.conversation("start")
        rows = [(seq, first, DocKind.PROMPT, "word") for seq in range(1000, 2500)]
        store.conn.executemany("INSERT INTO search_docs VALUES (?, ?, ?, ?)", rows)
        store.conn.execute("UPDATE search_docs SET conversation_id = ? WHERE seq = 1200", (second,))
        store.conn.execute("INSERT INTO search_fts (search_fts) VALUES ('rebuild')")
        store.conn.executemany(
            "INSERT INTO events VALUES (?, ?, NULL, 'x', '{}', 0)",
            [(2499, first), (1200, second)],
        )
        with closing(open_for_search(store.path)) as conn:
            found = find_conversations(conn, parse_query("word"), 50, Slow(2))
        assert found.partial == "time_cap"
        assert [row.conversation_id for row in found.rows] == [first, second]


def test_a_cancel_from_outside_passes_through(tmp_path: Path) -> None:
    with a_store(tmp_path) as store, closing(open_for_search(store.path)) as conn:
        conn.set_progress_handler(lambda: True, 1, id="cancel")
        with pytest.raises(apsw.InterruptError), caps.Cap(FakeClock()).on(conn):
            conn.execute("SELECT count(*) FROM sqlite_schema").fetchall()


# One conversation.


def test_hits_inside_are_the_newest_first(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one, other = store.conversation("needle one"), store.conversation("needle two")
        second = store.answer(one, "the needle again")
        store.answer(other, "needle of the other")
        third = store.command(one, "grep needle f")
        store.index()
        found = store.inside(one, "needle")
        assert [hit.seq for hit in found.hits] == [third, second, 2]
        assert [hit.kind for hit in found.hits] == [
            DocKind.COMMAND,
            DocKind.ANSWER,
            DocKind.PROMPT,
        ]
        assert [hit.seq for hit in store.inside(one, "needle", 2).hits] == [third, second]
        assert store.inside(one, "nothing").hits == ()
        assert store.inside(one, "***").hits == ()
        assert store.inside(store.id(), "needle").hits == ()


def test_without_a_query_the_newest_texts_are_shown(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("first")
        store.command(one, "ls")
        store.answer(one, "line 1\nline 2")
        store.index()
        hits = store.inside(one, "").hits
        assert [[line.text for line in hit.lines] for hit in hits] == [
            ["line 1", "line 2"],
            ["first"],
        ]


def test_inside_others_count_as_rows_looked_at(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one, other = store.conversation("start"), store.conversation("start")
        rows = [(seq, other, DocKind.ANSWER, "the") for seq in range(101, 101 + caps.ROW_CAP + 5)]
        rows += [(100, one, DocKind.ANSWER, "the"), (9000, one, DocKind.ANSWER, "start")]
        store.conn.executemany("INSERT INTO search_docs VALUES (?, ?, ?, ?)", rows)
        store.conn.execute("INSERT INTO search_fts (search_fts) VALUES ('rebuild')")
        found = store.inside(one, "the")
        assert (found.hits, found.partial) == ((), "row_cap")
