"""A new terminal in a project takes up what no open terminal holds."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tests.conversations.conftest import Open, own_daemon
from tests.conversations.terminals import (
    Terminal,
    age,
    answer,
    command_id,
    end,
    events_of,
    interrupt,
)
from tests.harness.daemon import DEMO, Daemon


def switch(sent: Any) -> Any:
    return sent["route"].get("switch")


def test_the_newest_free_conversation_comes_to_a_new_terminal(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first, second, third = open_terminal(1), open_terminal(2), open_terminal(3)
    first.prompt("an older thing", app)
    newest = second.prompt("fix the proxy test", app)
    first.close()
    second.close()
    picked = third.prompt("go on", app)
    assert picked["conversation_id"] == newest["conversation_id"]
    told = switch(picked)
    assert (told["kind"], told["title"]) == ("picked_up", "fix the proxy test")
    kinds = [one["kind"] for one in events_of(daemon, picked["conversation_id"])]
    assert kinds.count("terminal_attached") == 1
    attached = next(
        e for e in events_of(daemon, picked["conversation_id"]) if e["kind"] == "terminal_attached"
    )
    assert attached["tty"] == third.tty
    assert attached["shell_pid"] == third.shell_pid
    assert attached["how"] == "picked_up"


def test_its_hidden_shell_goes_on_where_it_was(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first, second = open_terminal(1), open_terminal(2)
    sent = first.prompt("run: cd src && pwd", app)
    first.close()
    picked = second.send("run: pwd", app)
    assert picked["conversation_id"] == sent["conversation_id"]
    assert str(app / "src") in answer(daemon, picked)


def test_a_new_hidden_shell_starts_in_the_last_directory(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first, second = open_terminal(1), open_terminal(2)
    sent = first.prompt("run: cd src && pwd", app)
    first.close()
    daemon.stop()  # the shell ends with it
    daemon.start()
    picked = second.send("run: pwd", app)
    assert picked["conversation_id"] == sent["conversation_id"]
    assert str(app / "src") in answer(daemon, picked)
    started = [
        e for e in events_of(daemon, picked["conversation_id"]) if e["kind"] == "shell_started"
    ]
    assert started[-1]["cwd"] == str(app / "src")


def test_what_an_open_terminal_holds_stays_there(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first, second = open_terminal(1), open_terminal(2)
    held = first.prompt("x", app)
    new = second.prompt("x", app)
    assert new["conversation_id"] != held["conversation_id"]
    assert switch(new) is None
    assert first.prompt("x", app)["conversation_id"] == held["conversation_id"]


def test_following_holds_without_a_shell(daemon: Daemon, app: Path, open_terminal: Open) -> None:
    first, second = open_terminal(1), open_terminal(2)
    held = first.prompt("x", app)
    first.close()
    with daemon.client("cli", tty=first.tty) as follower:
        follower.request("conversation.subscribe", {"conversation_id": held["conversation_id"]})
        assert follower.read()["item"]["kind"] == "snapshot"
        new = second.prompt("x", app)
        assert new["conversation_id"] != held["conversation_id"]


def test_outside_and_scripts_are_never_picked_up(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first, second = open_terminal(1), open_terminal(2)
    script = first.prompt("x", app, context={"tty": None, "shell_pid": None})
    home = first.prompt("x", daemon.home)
    first.close()
    inside, outside = second.prompt("x", app), second.prompt("x", daemon.home)
    assert inside["conversation_id"] != script["conversation_id"]
    assert outside["conversation_id"] != home["conversation_id"]


def test_an_idle_one_is_not_picked_up(daemon: Daemon, app: Path, open_terminal: Open) -> None:
    first, second, third = open_terminal(1), open_terminal(2), open_terminal(3)
    young, old = first.prompt("x", app), second.prompt("x", app)
    mine = third.prompt("x", app)
    first.close()
    second.close()
    age(daemon, (young, 11.99), (old, 12.01), (mine, 12.01))
    new = third.prompt("x", app)  # its own ended by time: it picks nothing up
    assert new["conversation_id"] not in [one["conversation_id"] for one in (young, old, mine)]
    assert switch(new)["reason"] == {"kind": "idle", "hours": 12}
    fourth, fifth = open_terminal(4), open_terminal(5)
    assert fourth.prompt("x", app)["conversation_id"] == young["conversation_id"]
    assert fifth.prompt("x", app)["conversation_id"] != old["conversation_id"]


def test_a_new_shell_in_a_terminal_of_the_same_name(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    inside, home = terminal.prompt("x", app), terminal.prompt("x", daemon.home)
    terminal.reopen()
    new_home, again = terminal.prompt("x", daemon.home), terminal.prompt("x", app)
    assert new_home["conversation_id"] != home["conversation_id"]
    assert switch(new_home) is None
    assert again["conversation_id"] == inside["conversation_id"]
    assert switch(again)["kind"] == "picked_up"


def test_a_shell_inside_the_first_one_shares_its_conversation(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal, nested = open_terminal(1), open_terminal(1)
    first = terminal.prompt("x", daemon.home)
    assert nested.prompt("x", daemon.home)["conversation_id"] == first["conversation_id"]


def test_of_two_terminals_at_the_same_moment_one_picks_up(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first = open_terminal(1)
    free = first.prompt("x", app)
    first.close()
    barrier = threading.Barrier(4)
    sent: list[Any] = []

    def send(terminal: Terminal) -> None:
        barrier.wait(20)
        sent.append(terminal.send("x", app))

    threads = [
        threading.Thread(target=send, args=(open_terminal(number),)) for number in range(2, 6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    ids = [one["conversation_id"] for one in sent]
    assert ids.count(free["conversation_id"]) == 1
    assert len(set(ids)) == 4
    for one in sent:
        end(daemon, one)


def test_who_lost_its_conversation_to_a_delete_picks_none_up_also_after_a_restart(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first, second, third = open_terminal(1), open_terminal(2), open_terminal(3)
    free, deleted, moved = (one.prompt("x", app) for one in (first, second, third))
    first.close()
    fourth = open_terminal(4)
    fourth.resume(moved["conversation_id"], app, take=True)
    with daemon.client() as client:
        for gone in (deleted, moved):
            client.call(
                "conversation.delete",
                {
                    "command_id": command_id(),
                    "conversation_id": gone["conversation_id"],
                    "force": True,
                },
            )
    daemon.kill()
    daemon.start()
    for terminal in (second, third, fourth):
        new = terminal.prompt("x", app)
        assert new["conversation_id"] != free["conversation_id"]
        assert switch(new)["reason"] == {"kind": "scope"}
    assert open_terminal(5).prompt("x", app)["conversation_id"] == free["conversation_id"]


@own_daemon
def test_follow_project_off_is_one_conversation_for_a_terminal(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    daemon.write_settings(DEMO + "[conversation]\nfollow_project = false\n")
    with daemon.client() as client:
        assert client.call("admin.config_reload")["applied"]
    first, second = open_terminal(1), open_terminal(2)
    ids = {first.prompt("x", one)["conversation_id"] for one in (app, daemon.home, "/etc", app)}
    assert len(ids) == 1
    first.close()
    assert second.prompt("x", app)["conversation_id"] not in ids


def test_a_running_turn_of_a_closed_terminal_goes_on_and_the_prompt_waits(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    first, second = open_terminal(1), open_terminal(2)
    running = first.send("count to 100000", app)
    first.close()
    waiting = second.send("say: after it", app)
    assert waiting["conversation_id"] == running["conversation_id"]
    assert waiting["queued"]
    interrupt(daemon, running)
    assert end(daemon, waiting)[-1]["kind"] == "turn_completed"
