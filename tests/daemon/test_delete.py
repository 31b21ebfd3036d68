"""conversation.delete over the real socket: what goes, what refuses, and what a kill leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.daemon.test_methods import ENDS, command, follow, send
from tests.daemon.test_work import answer_all, wait_for
from tests.harness.daemon import ROOT, Daemon
from tests.harness.raw_client import RawClient
from tests.store.samples import opened

TTY = "/dev/pts/77"
WORD = "kumquat"
UNKNOWN = "00000000-0000-7000-8000-0000000000ff"


@pytest.fixture(name="daemon")
def _daemon(tmp_path: Path) -> Iterator[Daemon]:
    with Daemon(tmp_path) as daemon:
        yield daemon


@pytest.fixture(name="client")
def _client(daemon: Daemon) -> Iterator[RawClient]:
    with daemon.client() as client:
        yield client


def here(daemon: Daemon, shell_pid: int | None = None) -> dict[str, Any]:
    """The terminal's context; its shell is this test's process."""
    return {"pwd": str(daemon.home), "tty": TTY, "shell_pid": shell_pid or os.getpid()}


def delete(client: RawClient, conversation: str, **params: Any) -> Any:
    params.setdefault("command_id", command())
    return client.call("conversation.delete", {"conversation_id": conversation, **params})


def refused(client: RawClient, conversation: str, **params: Any) -> Any:
    params.setdefault("command_id", command())
    return client.refusal("conversation.delete", {"conversation_id": conversation, **params})


def words_in(database: Path, word: str) -> set[str]:
    """Tables with the word in a live row."""
    found = set()
    with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)) as conn:
        tables = conn.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search_fts%'"
        ).fetchall()
        for (table,) in tables:
            for row in conn.execute(f"SELECT * FROM {table}"):
                if any(isinstance(value, str) and word in value for value in row):
                    found.add(str(table))
    return found


def files_with(daemon: Daemon, word: str) -> list[str]:
    """Below the data, state and runtime roots, but where docs/storage.md says that something stays:
    the database and its log (freed pages keep their bytes until SQLite uses them again), and lines
    that wait for a terminal."""
    roots = daemon.roots
    return [
        str(path)
        for top in (roots.data.path, roots.state.path, roots.runtime.path)
        for path in sorted(top.rglob("*"))
        if path.is_file()
        and not path.name.startswith("efr.sqlite")
        and path.parent != roots.notices
        and (word in path.name or word.encode() in path.read_bytes())
    ]


def plant(daemon: Daemon, client: RawClient) -> str:
    """A conversation with the word in its prompt, its answer, its commands, their output, its
    recording, and its $SCRATCH."""
    line = f"echo {WORD} > $SCRATCH/{WORD}.txt; echo {WORD}"
    sent = send(client, f"run: {line}", context=here(daemon))
    answer_all(client, sent)
    conversation = str(sent["conversation_id"])
    follow(client, send(client, f"say: {WORD} is a fruit", conversation_id=conversation))
    return conversation


def test_a_deleted_conversation_is_found_nowhere(daemon: Daemon, client: RawClient) -> None:
    one = plant(daemon, client)
    other = str(send(client, "another matter", new_conversation=True)["conversation_id"])
    assert {"events", "turns", "conversations", "turn_messages"} <= words_in(
        daemon.roots.database, WORD
    )
    planted = files_with(daemon, WORD)
    assert any("/recordings/" in path for path in planted)
    assert any("/scratch/" in path for path in planted)
    watch = client.request("conversation.subscribe", {"conversation_id": one})
    assert client.read()["id"] == watch
    key = command()
    result = delete(client, one, command_id=key, force=True)
    title = f"run: echo {WORD} > $SCRATCH/{WORD}.txt; echo {WORD}"
    assert result == {"kind": "deleted", "conversation_id": one, "title": title}

    assert words_in(daemon.roots.database, WORD) == set()
    assert files_with(daemon, WORD) == []
    # No method shows it.
    for method in ("conversation.history", "conversation.search", "conversation.subscribe"):
        params = {"conversation_id": one, "query": WORD}
        assert client.refusal(method, params)["code"] == "not_found"
    listed = client.call("conversations.list")["conversations"]
    assert [row["id"] for row in listed] == [other]
    assert client.call("conversations.search", {"query": WORD})["rows"] == []
    assert refused(client, one)["code"] == "not_found"
    # A retry gets the stored answer, which outlives the conversation and has no text of it.
    assert delete(client, one, command_id=key) == {"kind": "deleted", "conversation_id": one}


def test_a_subscription_ends_after_the_delete(daemon: Daemon, client: RawClient) -> None:
    one = str(send(client, "say: hello")["conversation_id"])
    with daemon.client() as follower:
        watch = follower.request("conversation.subscribe", {"conversation_id": one})
        while follower.read()["item"].get("event", {}).get("kind") not in (*ENDS, None):
            pass
        delete(client, one, stop=True)
        kinds = []
        while "end" not in (frame := follower.read()):
            assert frame["id"] == watch
            kinds.append(frame["item"].get("event", {}).get("kind"))
        assert kinds[-1] == "conversation_deleted"


def test_an_unknown_conversation_is_not_found(client: RawClient) -> None:
    assert refused(client, UNKNOWN)["code"] == "not_found"


def test_a_running_turn_refuses_and_stop_ends_it(daemon: Daemon, client: RawClient) -> None:
    sent = send(client, "count to 100000", context=here(daemon))
    one = str(sent["conversation_id"])
    wait_for(client, sent, "assistant_message_updated")
    send(client, f"say: {WORD} waits", conversation_id=one)
    with daemon.client() as other:
        error = refused(other, one, force=True)
        assert (error["code"], error["data"]) == ("busy", {"busy": "turn"})
        assert delete(other, one, force=True, stop=True)["kind"] == "deleted"
    assert words_in(daemon.roots.database, WORD) == set()
    with opened(daemon.roots.database) as conn:
        assert conn.execute("SELECT count(*) FROM turns").get == 0
        left = conn.execute("SELECT kind FROM events WHERE conversation_id = ?", (one,))
        assert left.fetchall() == [("conversation_deleted",)]
    # The daemon goes on.
    follow(client, send(client, "say: still here"))


def test_a_command_that_runs_is_ended(daemon: Daemon, client: RawClient) -> None:
    sent = send(client, "run: sleep 600", context=here(daemon))
    one = str(sent["conversation_id"])
    question = wait_for(client, sent, "approval_requested")["event"]
    params = {"command_id": command(), "conversation_id": one, "call_id": question["call_id"]}
    client.call("approval.respond", {**params, "decision": "allow"})
    assert delete(client, one, force=True, stop=True)["kind"] == "deleted"
    assert client.call("admin.status")["shells"] == 0
    assert files_with(daemon, "sleep 600") == []


def test_an_open_terminal_holds_it(daemon: Daemon, client: RawClient) -> None:
    with daemon.client("shell", tty=TTY) as terminal:
        sent = send(terminal, "say: held here", context=here(daemon))
        follow(terminal, sent)
        one = str(sent["conversation_id"])
        held = {"kind": "held", "tty": TTY, "title": "say: held here"}
        key = command()
        assert delete(client, one, command_id=key) == held
        assert delete(client, one, command_id=key) == held  # a result like any other
        assert "conversations" in words_in(daemon.roots.database, "held here")
        assert delete(client, one, force=True)["kind"] == "deleted"
        assert words_in(daemon.roots.database, "held here") == set()
        again = send(terminal, "say: anew", context=here(daemon))
        assert again["conversation_id"] != one


def test_a_terminal_deletes_its_own(daemon: Daemon) -> None:
    with daemon.client("shell", tty=TTY) as terminal:
        sent = send(terminal, "say: my own", context=here(daemon))
        follow(terminal, sent)
        assert delete(terminal, str(sent["conversation_id"]))["kind"] == "deleted"


def test_a_closed_terminal_holds_nothing(daemon: Daemon, client: RawClient) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    sent = send(client, "say: left behind", context=here(daemon, gone.pid))
    follow(client, sent)
    assert delete(client, str(sent["conversation_id"]))["kind"] == "deleted"


def test_what_cannot_be_removed_is_named_and_tried_again(daemon: Daemon, client: RawClient) -> None:
    """A file behind a link, and rows that the database does not give up."""
    sent = send(client, "say: hello")
    follow(client, sent)
    one = str(sent["conversation_id"])
    state = daemon.roots.state.path
    with opened(daemon.roots.database) as conn:
        conn.execute(
            "CREATE TRIGGER t BEFORE DELETE ON turn_messages BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
    elsewhere = daemon.folder / "elsewhere"
    (elsewhere / one).mkdir(parents=True)
    (elsewhere / one / "file").write_text(WORD)
    (state / "sandbox").symlink_to(elsewhere)  # a link: nothing behind it is touched
    result = delete(client, one)
    assert result["not_removed"] == [str(daemon.roots.database), str(state / "sandbox" / one)]
    assert "ERROR efr.store: rows of a deleted conversation stay in the database" in daemon.log
    with opened(daemon.roots.database) as conn:
        conn.execute("DROP TRIGGER t")
    assert (elsewhere / one / "file").read_text() == WORD
    assert daemon.stop() == 0
    (state / "sandbox").unlink()
    elsewhere.rename(state / "sandbox")
    daemon.start()
    assert not (state / "sandbox" / one).exists()
    with opened(daemon.roots.database) as conn:
        done = conn.execute("SELECT done_at FROM conversation_deletes").get
        assert done is not None


@pytest.mark.parametrize("step", ["tombstone", "rows deleted"])
def test_a_start_finishes_a_delete_before_its_socket_opens(
    daemon: Daemon, client: RawClient, step: str
) -> None:
    one = plant(daemon, client)
    assert daemon.stop() == 0
    home = str(daemon.roots.data.path.parent)
    done = subprocess.run(
        [sys.executable, "-m", "tests.store.delete_child", home, step, "1", one],
        cwd=ROOT,
        timeout=50,
    )
    assert done.returncode == -signal.SIGKILL
    assert files_with(daemon, WORD) != []
    daemon.start()  # READY=1 comes after the socket
    assert words_in(daemon.roots.database, WORD) == set()
    assert files_with(daemon, WORD) == []
    with daemon.client() as again:
        assert again.call("conversations.list")["conversations"] == []


def test_a_kill_right_after_the_answer_loses_nothing(daemon: Daemon, client: RawClient) -> None:
    one = plant(daemon, client)
    key = command()
    params = {"command_id": key, "conversation_id": one, "force": True}
    client.call("conversation.delete", params)
    daemon.kill()
    daemon.start()
    with daemon.client() as again:
        assert again.call("conversation.delete", params)["kind"] == "deleted"
    assert files_with(daemon, WORD) == []
