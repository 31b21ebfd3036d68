"""Searches over the real socket: rows, hits, limits, who may ask, and the index while it grows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from scripts.corpus import write
from tests.daemon.test_methods import command, follow, send
from tests.harness.daemon import Daemon
from tests.harness.raw_client import RawClient

UNKNOWN = "00000000-0000-7000-8000-0000000000ff"
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
LIMIT_S = 20.0


@pytest.fixture(name="daemon", scope="module")
def _daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon")) as daemon:
        yield daemon


@pytest.fixture(name="client")
def _client(daemon: Daemon) -> Iterator[RawClient]:
    with daemon.client() as client:
        yield client


def say(client: RawClient, text: str, **params: Any) -> str:
    """A turn; its conversation."""
    sent = send(client, text, **params)
    follow(client, sent)
    return str(sent["conversation_id"])


def search(client: RawClient, query: str, **params: Any) -> Any:
    return client.call("conversations.search", {"query": query, **params})


def found(client: RawClient, query: str, **params: Any) -> Any:
    """The rows of a search, once the indexer is there. It works beside the turns, so a test that
    searches at once may be too early."""
    ends = time.monotonic() + LIMIT_S
    while not (rows := search(client, query, **params)["rows"]):
        assert time.monotonic() < ends, f"nothing found for {query}"
        threading.Event().wait(0.02)
    return rows


def test_a_search_finds_prompts_and_marks_them(client: RawClient) -> None:
    one = say(client, "größe 🙂 of the xylophone")
    (row,) = found(client, "xylo")
    assert row["conversation"]["summary"]["id"] == one
    assert row["conversation"]["summary"]["title"] == "größe 🙂 of the xylophone"
    assert row["conversation"]["turns"] == 1
    assert row["title_ranges"] == [{"start": 15, "end": 24}]
    assert row["short_id"] == one[: len(row["short_id"])]
    assert len(row["short_id"]) >= 8
    hit = row["hit"]
    assert (hit["kind"], hit["lines"]) == (
        "title",
        [{"text": "größe 🙂 of the xylophone", "ranges": [{"start": 15, "end": 24}]}],
    )


def test_the_cursor_of_a_hit_pages_to_it(client: RawClient) -> None:
    one = say(client, "a needle called quokka")
    say(client, "something else", conversation_id=one)
    (row,) = found(client, "quokka")
    hit = row["hit"]
    page = client.call(
        "conversation.history",
        {"conversation_id": one, "cursor": hit["history_cursor"], "limit": 1},
    )
    (event,) = page["events"]
    assert event["seq"] == hit["seq"]
    assert event["at"] == hit["at"]
    assert event["event"]["turn_id"] == hit["turn_id"]


def test_one_conversation_is_searched_newest_first(client: RawClient) -> None:
    one = say(client, "first wombat")
    say(client, "second wombat\nand more", conversation_id=one)
    found(client, "second wombat")
    result = client.call("conversation.search", {"conversation_id": one, "query": "wombat"})
    prompts = [hit for hit in result["hits"] if hit["kind"] == "prompt"]
    assert [hit["lines"][0]["text"] for hit in prompts] == ["second wombat", "first wombat"]
    assert result["title"] == "first wombat"
    seqs = [hit["seq"] for hit in result["hits"]]
    assert seqs == sorted(seqs, reverse=True)
    newest = client.call("conversation.search", {"conversation_id": one, "query": "", "limit": 1})
    assert len(newest["hits"]) == 1


def test_an_empty_query_is_the_recent_list(client: RawClient) -> None:
    say(client, "recent one")
    rows = search(client, " ")["rows"]
    recent = client.call("conversations.recent", {"limit": 50})["conversations"]
    assert [row["conversation"] for row in rows] == recent
    assert all("hit" not in row for row in rows)
    assert search(client, "", limit=1)["rows"] == rows[:1]


def test_scope_and_current_are_those_of_the_list(daemon: Daemon, client: RawClient) -> None:
    asked = {"pwd": str(daemon.home), "tty": "/dev/pts/91"}
    recent = client.call("conversations.recent", asked)
    result = search(client, "nothing-like-it", **asked)
    assert result["scope"] == recent["scope"]
    assert result.get("current") == recent.get("current")
    assert "scope" not in search(client, "nothing-like-it")


def test_stats_come_when_they_are_asked_for(client: RawClient) -> None:
    say(client, "numbat statistics")
    found(client, "numbat")
    stats = search(client, "numbat", stats=True)["stats"]
    assert stats["rows_scanned"] >= 1
    assert stats["conversations_scored"] >= 1
    assert stats["titles_scored"] >= 1
    assert stats["elapsed_us"] > 0
    assert "stats" not in search(client, "numbat")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("conversations.search", {"query": "x" * 257}),
        ("conversations.search", {"query": "x " * 17}),
        ("conversations.search", {"query": "x", "limit": 0}),
        ("conversation.search", {"conversation_id": UNKNOWN, "query": "x" * 257}),
        ("conversation.search", {"conversation_id": UNKNOWN, "query": "x", "limit": 0}),
    ],
)
def test_limits_are_invalid(client: RawClient, method: str, params: dict[str, Any]) -> None:
    assert client.refusal(method, params)["code"] == "invalid"


def test_operators_are_words(client: RawClient) -> None:
    say(client, "a OR b")
    assert search(client, 'a" OR *')["rows"] is not None
    assert search(client, "*** --")["rows"] == []


def test_an_unknown_conversation_is_not_found(client: RawClient) -> None:
    params = {"conversation_id": UNKNOWN, "query": "x"}
    assert client.refusal("conversation.search", params)["code"] == "not_found"


def test_a_key_is_found_nowhere_and_shown_nowhere(client: RawClient) -> None:
    one = say(client, f"use {KEY} for the bilby")
    (row,) = found(client, "bilby")
    assert row["conversation"]["summary"]["title"] == "use [***] for the bilby"
    assert KEY not in str(row)
    assert search(client, KEY)["rows"] == []
    recent = client.call("conversations.recent")["conversations"]
    assert KEY not in str(recent)
    history = client.call("conversation.history", {"conversation_id": one})
    assert KEY in str(history)  # the log keeps what was said


def test_many_searches_at_once_are_all_answered(daemon: Daemon, client: RawClient) -> None:
    """A newer one of a connection may take the place of one that waits; prompts go on."""
    say(client, "kookaburra")
    found(client, "kookaburra")
    with daemon.client() as typing:
        keys = [
            typing.request("conversations.search", {"query": "kookaburra"[: n % 9 + 1]})
            for n in range(30)
        ]
        send(client, "meanwhile")
        ends: dict[int, str] = {}
        while len(ends) < len(keys):
            frame = typing.read()
            if "item" in frame:
                ends[frame["id"]] = "answered"
            elif "error" in frame:
                ends[frame["id"]] = frame["error"]["code"]
        assert set(ends) == set(keys)
        assert set(ends.values()) <= {"answered", "cancelled"}
        assert ends[keys[-1]] == "answered"


def test_nobody_hears_busy_while_all_work_at_once(daemon: Daemon) -> None:
    """Eight clients with prompts, three that search, and the indexer."""
    told: list[Any] = []

    def work(step: Any) -> None:
        with daemon.client() as client:
            for number in range(4):
                told.append(step(client, number))

    def prompting(client: RawClient, number: int) -> Any:
        params = {"command_id": command(), "text": f"say: number {number}"}
        return client.answer(client.request("prompt.send", {**params, "new_conversation": True}))

    def searching(client: RawClient, number: int) -> Any:
        return client.answer(client.request("conversations.search", {"query": f"number {number}"}))

    clients = [threading.Thread(target=work, args=(prompting,)) for _ in range(8)]
    clients += [threading.Thread(target=work, args=(searching,)) for _ in range(3)]
    for one in clients:
        one.start()
    for one in clients:
        one.join(LIMIT_S)
    assert len(told) == 44
    assert [frame for frame in told if "error" in frame] == []


# The index while it grows.


def test_a_backfill_says_how_far_it_is_and_ends(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    database = daemon.roots.database
    database.parent.mkdir(parents=True, mode=0o700)
    write(database, 300)
    with daemon, daemon.client() as client:
        seen: list[int] = []
        ends = time.monotonic() + 2 * LIMIT_S
        while (index := search(client, "the").get("index")) is not None:
            assert time.monotonic() < ends
            seen.append(index["percent"])
            threading.Event().wait(0.02)
        assert seen == sorted(seen)
        assert all(0 <= percent < 100 for percent in seen)
        assert search(client, "the")["rows"]


def test_another_redaction_builds_the_index_anew_at_the_next_start(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    with daemon, daemon.client() as client:
        say(client, "remember the echidna")
        found(client, "echidna")
    conn = apsw.Connection(str(daemon.roots.database))
    conn.execute("UPDATE search_state SET redaction_version = 0")
    conn.execute("UPDATE search_docs SET text = 'of an older redaction'")
    conn.close()
    daemon = Daemon(tmp_path)
    with daemon, daemon.client() as client:
        assert "the search index is built anew" in daemon.log
        found(client, "echidna")
        assert search(client, "older")["rows"] == []


def test_eight_writers_and_three_searchers_never_hear_busy(daemon: Daemon) -> None:
    faults: list[BaseException] = []
    done = threading.Event()

    def guarded(work: Callable[[RawClient], None]) -> threading.Thread:
        def run() -> None:
            try:
                with daemon.client() as client:
                    work(client)
            except BaseException as exc:
                faults.append(exc)

        return threading.Thread(target=run)

    def write_some(client: RawClient) -> None:
        for number in range(4):
            say(client, f"say crowd {number} of eight", new_conversation=True)

    def search_on(client: RawClient) -> None:
        while not done.is_set():
            search(client, "crowd eig", limit=200)

    writers = [guarded(write_some) for _ in range(8)]
    searchers = [guarded(search_on) for _ in range(3)]
    for one in (*searchers, *writers):
        one.start()
    for one in writers:
        one.join(LIMIT_S)
    done.set()
    for one in searchers:
        one.join(LIMIT_S)
    assert faults == []
    with daemon.client() as client:
        ends = time.monotonic() + LIMIT_S
        while len(found(client, "crowd eight", limit=200)) < 32:
            assert time.monotonic() < ends
            threading.Event().wait(0.02)
    assert "busy" not in daemon.log
