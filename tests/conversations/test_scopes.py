"""One conversation for each scope of a terminal, and what it hears of a change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.agent.test_repos import committed
from tests.conversations.conftest import Open, own_daemon
from tests.conversations.terminals import add_project, age, answer, events_of, remove_project
from tests.harness.daemon import DEMO, Daemon


def switch(sent: Any) -> Any:
    return sent["route"].get("switch")


def test_a_project_and_home_are_two_conversations_that_one_returns_to(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    first = terminal.prompt("fix the tests", app)
    home = terminal.prompt("what is new", daemon.home)
    back = terminal.prompt("go on", app)
    assert first["conversation_id"] == back["conversation_id"] != home["conversation_id"]
    place = first["route"]["scope"]
    assert place == {"scope": place["scope"], "name": "app", "dir": str(app)}
    assert place["scope"]["kind"] == "project"
    assert switch(first) is None
    assert switch(home) == {"kind": "new", "from": place, "reason": {"kind": "scope"}}
    assert home["route"]["scope"] == {"scope": {"kind": "outside"}, "dir": str(daemon.home)}
    told = switch(back)
    assert (told["kind"], told["title"]) == ("back", "fix the tests")
    assert told["updated_at"].endswith("Z")


def test_below_the_root_is_the_project_and_the_rest_is_one_conversation(
    daemon: Daemon, folder: Path, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    tool = committed(folder / "tool")
    inside = {terminal.prompt("x", one)["conversation_id"] for one in (app, app / "src")}
    places = (daemon.home, "/etc", tool, folder / "app2")
    outside = {terminal.prompt("x", one)["conversation_id"] for one in places}
    assert (len(inside), len(outside)) == (1, 1)
    assert inside != outside


def test_the_words_of_a_prompt_move_nothing(
    daemon: Daemon, folder: Path, app: Path, open_terminal: Open
) -> None:
    other = folder / "lib"
    other.mkdir()
    add_project(daemon, other)
    terminal = open_terminal()
    first = terminal.prompt("fix the tests", app)
    both = terminal.prompt(f"compare app with lib in {other}", app)
    assert first["conversation_id"] == both["conversation_id"]


def test_nested_projects_and_links(
    daemon: Daemon, folder: Path, app: Path, open_terminal: Open
) -> None:
    inner = app / "vendor" / "x"
    (inner / "a").mkdir(parents=True)
    add_project(daemon, inner)
    (folder / "link").symlink_to(inner / "a")
    terminal = open_terminal()
    names = [
        terminal.prompt("x", one)["route"]["scope"]["name"]
        for one in (app / "vendor", inner / "a", folder / "link")
    ]
    assert names == ["app", "x", "x"]


def test_a_prompt_without_a_terminal_or_with_an_id_has_no_route(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    first = terminal.prompt("x", app)
    named = terminal.prompt("x", daemon.home, conversation_id=first["conversation_id"])
    assert "route" not in named
    script = terminal.prompt("x", app, context={"tty": None, "shell_pid": None})
    assert "route" not in script
    assert script["conversation_id"] != first["conversation_id"]
    created = events_of(daemon, script["conversation_id"])[0]
    assert (created["route"]["kind"], "tty" in created) == ("project", False)


def test_a_repository_that_is_no_project_is_hinted_at_once_a_day(
    daemon: Daemon, folder: Path, open_terminal: Open
) -> None:
    tool, other = (committed(folder / name) for name in ("tool", "other"))
    (tool / "deep").mkdir()
    terminal, second = open_terminal(1), open_terminal(2)
    hint = terminal.prompt("x", tool / "deep")["route"]["hint"]
    assert hint == {"kind": "git_repo", "root": str(tool)}
    assert "hint" not in terminal.prompt("x", tool)["route"]
    assert "hint" not in second.prompt("x", tool)["route"]
    assert terminal.prompt("x", other)["route"]["hint"]["root"] == str(other)
    assert terminal.prompt("x", daemon.home)["route"].get("hint") is None
    daemon.stop()
    file = daemon.roots.state.path / "repo_hints.json"
    days = json.loads(file.read_bytes())
    assert {str(tool), str(other)} <= set(days)
    file.write_text(json.dumps(days | {str(tool): "2020-01-01"}))
    daemon.start()
    assert terminal.prompt("x", tool)["route"]["hint"]["root"] == str(tool)
    assert "hint" not in terminal.prompt("x", other)["route"]
    with daemon.client() as client:
        listed = client.call("projects.list")["projects"]
    assert str(tool) not in {one["root"] for one in listed}  # nothing registers by itself


@own_daemon
def test_the_hint_can_be_off(daemon: Daemon, folder: Path, open_terminal: Open) -> None:
    tool = committed(folder / "tool")
    daemon.write_settings(DEMO + "[conversation]\nrepo_hint = false\n")
    with daemon.client() as client:
        assert client.call("admin.config_reload")["applied"]
    assert "hint" not in open_terminal().prompt("x", tool)["route"]


def test_each_scope_has_its_own_clock(daemon: Daemon, app: Path, open_terminal: Open) -> None:
    terminal = open_terminal()
    inside = terminal.prompt("fix the tests", app)
    home = terminal.prompt("what is new", daemon.home)
    age(daemon, (inside, 12.01), (home, 11.99))
    assert terminal.prompt("x", daemon.home)["conversation_id"] == home["conversation_id"]
    new = terminal.prompt("x", app)
    assert new["conversation_id"] != inside["conversation_id"]
    told = switch(new)
    assert told["reason"] == {"kind": "idle", "hours": 12}
    assert told["from"]["scope"] == {"kind": "outside"}


@own_daemon
def test_zero_hours_continue_for_ever(daemon: Daemon, open_terminal: Open) -> None:
    daemon.write_settings(DEMO + "[conversation]\ntty_idle_hours = 0\n")
    terminal = open_terminal()
    first = terminal.prompt("x", daemon.home)
    age(daemon, (first, 24 * 90))
    assert terminal.prompt("x", daemon.home)["conversation_id"] == first["conversation_id"]


def test_a_new_one_by_wish_leaves_the_other_scopes(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    home, inside = terminal.prompt("x", daemon.home), terminal.prompt("x", app)
    new = terminal.prompt("fix the flaky test", app, new_conversation=True)
    assert new["conversation_id"] != inside["conversation_id"]
    assert switch(new) is None
    assert terminal.prompt("x", app)["conversation_id"] == new["conversation_id"]
    assert terminal.prompt("x", daemon.home)["conversation_id"] == home["conversation_id"]


def test_slots_are_as_before_after_a_restart(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    inside, home = terminal.prompt("x", app), terminal.prompt("x", daemon.home)
    daemon.stop()
    daemon.start()
    again = terminal.prompt("x", app)
    assert again["conversation_id"] == inside["conversation_id"]
    assert switch(again)["kind"] == "back"
    assert terminal.prompt("x", daemon.home)["conversation_id"] == home["conversation_id"]


def test_the_turn_acts_where_the_registry_says_now(
    daemon: Daemon, app: Path, open_terminal: Open
) -> None:
    terminal = open_terminal()
    first = terminal.prompt("x", app)
    remove_project(daemon, app)
    outside = terminal.prompt("x", app)
    assert outside["conversation_id"] != first["conversation_id"]
    assert outside["route"]["scope"] == {"scope": {"kind": "outside"}, "dir": str(app)}
    project = add_project(daemon, app, name="again")
    inside = terminal.prompt("x", app)
    assert inside["route"]["scope"]["name"] == "again"
    started = [
        e for e in events_of(daemon, inside["conversation_id"]) if e["kind"] == "turn_started"
    ]
    assert started[0]["scope"] == {"kind": "project", "value": project["id"]}


def test_a_command_runs_where_the_user_is(daemon: Daemon, app: Path, open_terminal: Open) -> None:
    terminal = open_terminal()
    terminal.prompt("run: pwd", app / "src")
    assert str(app) in answer(daemon, terminal.send("run: pwd", app))
