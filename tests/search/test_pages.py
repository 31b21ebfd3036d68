"""What the index holds, and how its pages get in."""

from __future__ import annotations

from pathlib import Path

from efr.store import db
from efr.store.history import high_water
from efr.store.rebuild import rebuild
from efr.store.search.documents import DocKind
from efr.store.search.pages import (
    Limits,
    read_page,
    write_page,
)
from efr.store.search.state import CACHE_KIB, open_for_search, percent, prepare, state
from efr.text.indexed import TEXT_LIMIT
from efr.wire import events as ev
from tests.search.samples import Store, a_store, check
from tests.store.samples import an_id

KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


def test_prompts_steers_answers_and_commands_are_in_the_index(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation()
        seqs = [
            store.prompt(one, "clean the disk"),
            store.steer(one, "only old files"),
            store.answer(one, "It is clean."),
            store.command(one, "rm -r cache"),
        ]
        store.index()
        assert store.docs() == [
            (seqs[0], DocKind.PROMPT, "clean the disk"),
            (seqs[1], DocKind.STEER, "only old files"),
            (seqs[2], DocKind.ANSWER, "It is clean."),
            (seqs[3], DocKind.COMMAND, "rm -r cache"),
        ]
        assert store.titles() == {one: "clean the disk"}
        check(store.conn)


def test_nothing_else_is(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one, turn, call = store.conversation("first"), store.id(), store.id()
        store.command(one, "cat > f <<EOF\nheredoc body\nEOF")
        store.command(one, "sleep 100", background=True)
        store.append(
            ev.ToolCallStarted(
                turn_id=turn, call_id=call, tool="write_file", input={"command": "contents"}
            ),
            ev.ToolCallStarted(turn_id=turn, call_id=store.id(), tool="shell", input="no object"),
            ev.ToolCallStarted(
                turn_id=turn, call_id=store.id(), tool="shell", input={"command": 7}
            ),
            ev.ToolCallCompleted(
                turn_id=turn,
                call_id=call,
                output="output",
                truncated=False,
                is_error=False,
                diff="a diff",
            ),
            ev.AssistantMessageUpdated(turn_id=turn, index=0, offset=0, delta="piece"),
            ev.AssistantMessageCompleted(turn_id=turn, index=0, text=" \n "),
            conversation=one,
        )
        store.index()
        assert [text for _, _, text in store.docs()] == ["first", "cat > f <<EOF"]


def test_secrets_and_control_characters_stay_out_and_the_log_keeps_them(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation(f"use {KEY}\nthen")
        store.answer(one, f"\x1b[31mexport TOKEN={KEY}\x1b[0m")
        store.index()
        assert [text for _, _, text in store.docs()] == [
            "use [***]\u2028then",
            "export TOKEN=[***]",
        ]
        assert store.titles() == {one: "use [***]"}
        assert store.ids(KEY) == []
        assert store.ids("ghp_") == []
        kept = store.conn.execute("SELECT count(*) FROM events WHERE instr(payload, ?)", (KEY,))
        assert kept.get == 2


def test_a_record_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("first")
        store.conn.execute(
            "INSERT INTO events VALUES (?, ?, NULL, 'prompt_queued', '{\"kind\": 1}', 0)",
            (store.prompt(one, "second") + 5, one),
        )
        store.index()
        assert [text for _, _, text in store.docs()] == ["first", "second"]


def test_pages_have_limits(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation()
        for number in range(70):
            store.answer(one, f"answer {number}")
        assert store.index() == 3  # 32, 32, 6
        for _ in range(3):
            store.answer(one, "long " * 4000)
        assert store.index() == 3  # no two fit into 32 KiB
        for _ in range(10):
            store.append(
                *[ev.AssistantMessageUpdated(turn_id=one, index=0, offset=0, delta="x")] * 10,
                conversation=one,
            )
        assert store.index(Limits(events=40)) == 3  # 100 events, nothing for the index
        assert state(store.conn).indexed_seq == high_water(store.conn)


def test_a_page_holds_the_largest_text(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.answer(store.conversation(), "x" * 100_000)
        store.index()
        assert [len(text) for _, _, text in store.docs()] == [TEXT_LIMIT]


def test_the_cursor_and_the_page_commit_together(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.conversation("first")
        page = read_page(store.conn, 0)
        assert page is not None
        assert db.transact(store.conn, lambda: write_page(store.conn, page))
        assert state(store.conn).indexed_seq == page.upto
        assert not db.transact(store.conn, lambda: write_page(store.conn, page))  # not its place
        assert len(store.docs()) == 1
        assert read_page(store.conn, page.upto) is None


def test_a_page_read_before_a_delete_writes_nothing_of_it(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        gone, kept = store.conversation("gone"), store.conversation("kept")
        page = read_page(store.conn, 0)
        assert page is not None
        store.delete(gone)
        assert db.transact(store.conn, lambda: write_page(store.conn, page))
        store.index()
        assert [text for _, _, text in store.docs()] == ["kept"]
        assert store.titles() == {kept: "kept"}


def test_a_delete_before_the_page_is_read_leaves_it_out(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.delete(store.conversation("gone"))
        store.index()
        assert store.docs() == []


def test_another_redaction_empties_the_index_once(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.conversation("first")
        store.index()
        assert not prepare(store.conn)
        assert prepare(store.conn, version=99)
        assert state(store.conn) == type(state(store.conn))(0, 99)
        assert (store.docs(), store.titles()) == ([], {})
        assert store.ids("first") == []
        check(store.conn)
        assert not prepare(store.conn, version=99)
        store.index()
        assert len(store.ids("first")) == 1
        check(store.conn)


def test_a_rebuild_leaves_the_index_alone(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.conversation("first")
        store.index()
        before = (store.docs(), store.titles(), state(store.conn))
        rebuild(store.conn)
        assert (store.docs(), store.titles(), state(store.conn)) == before


def test_the_batch_that_ends_a_turn_writes_nothing_here(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation("first")
        before = state(store.conn)
        store.append(ev.TurnCompleted(turn_id=an_id(77)), conversation=one)
        assert (store.docs(), state(store.conn)) == ([], before)


def test_the_title_is_that_of_the_first_prompt(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation()
        store.answer(one, "an answer comes first")
        store.prompt(one, "\n first line \nmore")
        store.prompt(one, "second prompt")
        store.index()
        assert store.titles() == {one: "first line"}


def test_the_options_of_the_index(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        rows = store.conn.execute("SELECT k, v FROM search_fts_config").fetchall()
        options = {str(key): value for key, value in rows}
        assert (options["automerge"], options["pgsz"]) == (8, 1000)
        assert store.conn.pragma("auto_vacuum") == 0
        conn = open_for_search(store.path)
        assert conn.pragma("cache_size") == -CACHE_KIB
        conn.close()


def test_merges_go_on_until_a_step_has_no_work(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        one = store.conversation()
        for number in range(12):
            store.answer(one, f"words of {number} " * 50)
            store.index()
        assert store.merge() > 0
        assert store.merge() == 0
        check(store.conn)


def test_percent(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        assert percent(store.conn) == 99  # nothing to read
        _log_of_100(store)
        assert percent(store.conn) == 0
        page = read_page(store.conn, 0, Limits(texts=100, events=40))
        assert page is not None
        db.transact(store.conn, lambda: write_page(store.conn, page))
        assert percent(store.conn) == 40
        store.index()
        assert percent(store.conn) == 99  # 100 is told by saying nothing


def _log_of_100(store: Store) -> None:
    one = store.conversation()
    store.append(*[ev.TurnSteered(turn_id=one, text="x")] * 99, conversation=one)


def test_events_of_the_daemon_are_passed_over(tmp_path: Path) -> None:
    with a_store(tmp_path) as store:
        store.conn.execute("INSERT INTO events VALUES (1, NULL, NULL, 'prompt_queued', '{}', 0)")
        assert store.index() == 1
        assert store.docs() == []
