"""`conversation.resume` and the recent list over the socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conversations.conftest import Open, own_daemon
from tests.conversations.terminals import (
    add_project,
    age,
    answer,
    command_id,
    events_of,
    interrupt,
    remove_project,
)
from tests.harness.daemon import Daemon

UNKNOWN = "00000000-0000-7000-8000-0000000000ff"


def ids(recent: Any) -> list[str]:
    return [row["summary"]["id"] for row in recent["conversations"]]


def test_an_older_one_continues_with_its_context_and_in_its_directory(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    old = terminal.prompt("run: cd src && pwd", app)
    terminal.prompt("something else", app, new_conversation=True)
    age(daemon, (old, 24 * 3))
    found = terminal.resume(old["conversation_id"], app)
    place = old["route"]["scope"]
    assert found.pop("updated_at") < events_time(daemon, old["conversation_id"])
    assert found == {
        "kind": "resumed",
        "conversation_id": old["conversation_id"],
        "scope": place,
        "title": "run: cd src && pwd",
        "shell_dir": str(app / "src"),
        "continues_here": True,
    }
    again = terminal.send("run: pwd", app)
    assert again["conversation_id"] == old["conversation_id"]
    assert "switch" not in again["route"]
    assert str(app / "src") in answer(daemon, again)


def events_time(daemon: Daemon, conversation_id: str) -> str:
    with daemon.client() as client:
        page = client.call("conversation.history", {"conversation_id": conversation_id})
    return str(page["events"][-1]["at"])


def test_from_elsewhere_it_says_where_it_continues(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    old = terminal.prompt("fix the tests", app)
    terminal.prompt("x", app, new_conversation=True)
    home = terminal.prompt("x", daemon.home)
    found = terminal.resume(old["conversation_id"], daemon.home)
    assert "continues_here" not in found
    assert (found["scope"]["name"], found["scope"]["dir"]) == ("app", str(app))
    back = terminal.prompt("x", daemon.home)
    assert back["conversation_id"] == home["conversation_id"]
    assert terminal.prompt("x", app)["conversation_id"] == old["conversation_id"]


def test_an_open_terminal_is_asked_for_and_told(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    mine, theirs = open_terminal(1), open_terminal(2)
    held = theirs.prompt("why is the build slow", app)
    answer_ = mine.resume(held["conversation_id"], app)
    assert answer_ == {"kind": "held", "tty": theirs.tty, "title": "why is the build slow"}
    assert theirs.prompt("x", app)["conversation_id"] == held["conversation_id"]
    taken = mine.resume(held["conversation_id"], app, take=True)
    assert taken["kind"] == "resumed"
    new = theirs.prompt("x", app)
    assert new["conversation_id"] != held["conversation_id"]
    assert new["route"]["switch"] == {
        "kind": "new",
        "reason": {"kind": "moved", "tty": mine.tty, "title": "why is the build slow"},
    }
    assert mine.prompt("x", app)["conversation_id"] == held["conversation_id"]
    attached = [
        e for e in events_of(daemon, held["conversation_id"]) if e["kind"] == "terminal_attached"
    ]
    assert [(e["tty"], e["how"]) for e in attached] == [(mine.tty, "resumed")]


def test_the_same_command_answers_the_same_over_a_kill(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    old = terminal.prompt("x", app)
    params = {
        "command_id": command_id(),
        "conversation_id": old["conversation_id"],
        "context": terminal.context(app),
    }
    with daemon.client() as client:
        first = client.call("conversation.resume", params)
        daemon.kill()
    daemon.start()
    with daemon.client() as client:
        assert client.call("conversation.resume", params) == first
        params["command_id"] = command_id()
        params["conversation_id"] = UNKNOWN
        assert client.refusal("conversation.resume", params)["code"] == "not_found"
        params["conversation_id"] = old["conversation_id"]
        params["context"] = {"pwd": str(app)}
        params["command_id"] = command_id()
        assert client.refusal("conversation.resume", params)["code"] == "invalid"
    kinds = [e["kind"] for e in events_of(daemon, old["conversation_id"])]
    assert kinds.count("terminal_attached") == 1


@own_daemon
def test_the_recent_list_reads_like_the_page_of_the_docs(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    lib = daemon.home / "lib"
    lib.mkdir()
    add_project(daemon, lib)
    mine, theirs = open_terminal(1), open_terminal(2)
    gone = mine.prompt("x", lib)
    remove_project(daemon, lib)
    home = mine.prompt("look around with --password=hunter2sekrit", daemon.home)
    slow = theirs.prompt("why is the build slow", app)
    theirs.prompt("and now", app)
    fix = mine.prompt("fix the proxy test", app)
    found = mine.recent(app)
    assert found["scope"] == fix["route"]["scope"]
    assert found["current"] == fix["conversation_id"]
    order = [fix, slow, home, gone]
    assert ids(found) == [one["conversation_id"] for one in order]
    shown = [
        (
            row["summary"]["title"],
            row.get("project"),
            row["route"]["kind"],
            row["turns"],
            row.get("here", False),
            row.get("open_in"),
        )
        for row in found["conversations"]
    ]
    assert shown == [
        ("fix the proxy test", "app", "project", 1, True, None),
        ("why is the build slow", "app", "project", 2, False, theirs.tty),
        ("look around with --password=[***]", None, "outside", 1, True, None),
        ("x", None, "project", 1, True, None),
    ]
    outside = mine.recent(daemon.home)
    assert ids(outside)[0] == home["conversation_id"]
    assert ids(outside)[1:] == [one["conversation_id"] for one in (fix, slow, gone)]
    assert ids(mine.recent(app, limit=3)) == ids(found)[:3]
    assert ids(mine.recent(app, limit=1)) == ids(found)[:1]
    with daemon.client() as client:
        plain = client.call("conversations.recent")
        everything = client.call("conversations.list")
    assert "hunter2sekrit" not in json.dumps([found, everything])
    assert "scope" not in plain
    assert "current" not in plain
    assert ids(plain) == [one["conversation_id"] for one in (fix, slow, home, gone)]
    assert {row.get("open_in") for row in plain["conversations"]} == {mine.tty, theirs.tty}


def test_a_closed_terminal_has_no_mark(daemon: Daemon, app: Path, open_terminal: Open) -> None:
    mine, theirs = open_terminal(1), open_terminal(2)
    sent = theirs.prompt("x", app)
    assert mine.row(app, sent)["open_in"] == theirs.tty
    assert theirs.row(app, sent)["here"]
    theirs.reopen()
    assert "open_in" not in mine.row(app, sent)
    assert "here" not in theirs.row(app, sent)
    assert "current" not in theirs.recent(app)


def test_a_prompt_that_was_taken_back_is_no_turn(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    running = terminal.send("count to 100000", app)
    waiting = terminal.send("never mind", app)
    with daemon.client() as client:
        target = {"kind": "turn", "turn_id": waiting["turn_id"]}
        place = {"conversation_id": running["conversation_id"]}
        client.call("prompt.withdraw", {"command_id": command_id(), **place, "target": target})
    interrupt(daemon, running)
    assert terminal.row(app, running)["turns"] == 1


def test_the_list_of_a_terminal_is_led_by_its_last_prompt(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    inside, home = terminal.prompt("x", app), terminal.prompt("x", daemon.home)

    def led_by() -> list[str]:
        with daemon.client() as client:
            page = client.call("conversations.list", {"tty": terminal.tty})
        assert "next_cursor" not in page
        return [one["id"] for one in page["conversations"]]

    assert led_by() == [home["conversation_id"], inside["conversation_id"]]
    terminal.prompt("x", app)
    assert led_by() == [inside["conversation_id"], home["conversation_id"]]
    terminal.resume(home["conversation_id"], app)
    assert led_by() == [home["conversation_id"], inside["conversation_id"]]


def test_looking_at_a_conversation_moves_nothing(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    mine, theirs = open_terminal(1), open_terminal(2)
    own, other = mine.prompt("x", app), theirs.prompt("x", app)
    events_of(daemon, other["conversation_id"])
    mine.recent(app)
    assert mine.prompt("x", app)["conversation_id"] == own["conversation_id"]
    assert theirs.prompt("x", app)["conversation_id"] == other["conversation_id"]


def test_where_a_conversation_went_is_told_after_a_restart_too(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    mine, theirs, closed = open_terminal(1), open_terminal(2), open_terminal(3)
    free, held = closed.prompt("free", app), theirs.prompt("x", app)
    closed.close()
    mine.resume(held["conversation_id"], app, take=True)
    daemon.stop()
    daemon.start()
    new, again = theirs.prompt("x", app), theirs.prompt("x", app)
    assert new["conversation_id"] == again["conversation_id"]
    assert new["conversation_id"] not in (held["conversation_id"], free["conversation_id"])
    moved = {"kind": "moved", "tty": mine.tty, "title": "x"}
    assert new["route"]["switch"] == {"kind": "new", "reason": moved}
    assert "switch" not in again["route"]
