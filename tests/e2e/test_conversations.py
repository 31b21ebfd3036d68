"""Conversations as a person meets them: the scope story, `,resume`, search, delete."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from efr.client import connect
from tests.agent.test_repos import committed
from tests.e2e.conftest import Zsh, wait_until_found
from tests.e2e.person import Person
from tests.harness.daemon import Daemon


@pytest.fixture
def app(daemon: Daemon) -> Path:
    root = daemon.home / "p" / "app"
    root.mkdir(parents=True)
    with connect(daemon.env) as efr:
        efr.call("admin.project_add", path=str(root))
    return root


@pytest.fixture
def person(zsh: Zsh, app: Path) -> Callable[..., Person]:
    def begin(**how: object) -> Person:
        return Person(zsh(**{"columns": 118, "rows": 40, **how}))

    return begin


Begin = Callable[..., Person]


# --- scopes -------------------------------------------------------------------------------------


def test_a_terminal_has_one_conversation_for_each_scope(person: Begin, daemon: Daemon) -> None:
    committed(daemon.home / "p" / "tool")
    me = person()
    me.line("cd ~/p/app")
    assert me.ask("fix the tests") == ["app"]
    me.line("cd ~")
    assert me.ask("what is new") == [
        "○ no project · ~",
        "↪ new conversation outside projects (from app)",
    ]
    me.line("cd ~/p/app")
    assert me.ask("go on") == ["app", '↪ back to "say: fix the tests" in app (just now)']
    assert me.ask("and on") == ["app"]
    assert me.line(",new") == ["the next , line starts a new conversation"]
    assert me.ask("another one") == ["app"]
    assert me.ask("goes on in it") == ["app"]
    me.line("cd ~")
    assert me.ask("still here") == [
        "○ no project · ~",
        '↪ back to "say: what is new" outside projects (just now)',
    ]
    me.line("cd p/tool")
    hint = "is a git repo but not a project: writes there ask you. efr project add ~/p/tool"
    assert me.ask("a repository") == [
        "○ no project · ~/p/tool",
        f"○ ~/p/tool {hint} registers it.",
    ]
    assert me.ask("and again") == ["○ no project · ~/p/tool"]
    me.terminal.type(",\r")
    me.terminal.wait_for("🤖 ○ ›")
    me.terminal.type("!cd ~/p/app\r")
    me.terminal.wait_for("🤖 app ›")
    with connect(daemon.env) as efr:
        assert [one.name for one in efr.call("projects.list").projects] == ["app"]


def test_a_new_terminal_picks_up_what_no_open_one_holds(
    person: Begin, daemon: Daemon, app: Path
) -> None:
    one = person()
    one.sends(daemon, "say: fix the proxy test", app)
    two = person()
    two.line("cd ~/p/app")
    assert two.ask("mine") == ["app"]
    one.terminal.type("exit\r")
    one.terminal.read_to_end()
    three = person()
    three.line("cd ~/p/app")
    line = '↪ picked up "say: fix the proxy test" in app (just now); ,new starts fresh'
    assert three.ask("go on") == ["app", line]


def test_a_terminal_keeps_what_a_shell_inside_its_shell_began(person: Begin) -> None:
    one, two = person(), person()
    for somebody in (one, two):
        somebody.line("cd ~/p/app")
    one.line("zsh -i")
    assert one.ask("inner one") == ["app"]
    one.line("exit")
    assert two.ask("mine") == ["app"]
    assert one.ask("outer again") == ["app"]
    assert one.line("efr history --verbose")[0] == "> say: inner one"
    one.line("cd ~")
    one.ask("outside")
    one.line("zsh -i")
    one.line(",new")
    assert one.ask("inner two") == ["○ no project · ~"]
    one.line("exit")
    assert one.ask("outside again") == ["○ no project · ~"]
    assert one.line("efr history --verbose")[0] == "> say: inner two"


# --- the numbered list --------------------------------------------------------------------------


def test_the_numbers_of_a_list_stay(person: Begin, daemon: Daemon, app: Path) -> None:
    me = person()
    me.sends(daemon, "say: outside", daemon.home)
    me.sends(daemon, "say: fix the tests", app)
    me.sends(daemon, "say: newer", app, new_conversation=True)
    assert me.line(",resume") == [
        " 1  say: outside        no project  just now    1 turn   this terminal",
        " 2  say: newer          app         just now    1 turn   this terminal",
        " 3  say: fix the tests  app         just now    1 turn",
        ",resume N continues one here",
    ]
    me.sends(daemon, "say: in between", daemon.home, new_conversation=True)
    assert me.line(",resume 3") == [
        '↪ resumed "say: fix the tests" (app, just now); it continues when you prompt in ~/p/app'
    ]
    assert me.ask("not there")[0] == "○ no project · ~"
    me.line("cd ~/p/app/")
    assert '↪ back to "say: fix the tests" in app (just now)' in me.ask("here")


def test_one_that_another_terminal_holds_is_asked_for(person: Begin) -> None:
    one, two = person(), person()
    for somebody in (one, two):
        somebody.line("cd ~/p/app")
    one.ask("why is the build slow")
    listed = two.line(",resume")
    assert listed[0].endswith(f"   open in {one.terminal.tty}")
    asks = f'"say: why is the build slow" is open in {one.terminal.tty}. Move it here? [y/N]'
    assert two.line(",resume 1", ("[y/N]", "n")) == [asks, "nothing moved"]
    assert one.ask("still mine") == ["app"]
    two.clear()
    assert two.line(",resume 1", ("[y/N]", "y")) == [
        asks,
        '↪ resumed "say: why is the build slow" (app, just now)',
    ]
    assert one.ask("gone")[1].endswith(f'"say: why is the build slow" went to {two.terminal.tty}')
    assert two.ask("mine now") == ["app"]
    assert one.line(",resume --take 2")[0].startswith("↪ resumed ")


def test_titles_are_cut_at_50_columns_and_whole_in_a_pipe(person: Begin) -> None:
    me = person(columns=50)
    me.ask("a title that is longer than the row")
    rows = me.line(",resume")
    assert "…" in rows[0]
    assert max(map(len, rows)) <= 50
    me.line("efr resume | cat >whole")
    whole = (Path(os.readlink(f"/proc/{me.terminal.process.pid}/cwd")) / "whole").read_text()
    assert whole.startswith(" 1  say: a title that is longer than the row  no project")


# --- search and delete by hand ------------------------------------------------------------------


def two_conversations(me: Person, daemon: Daemon) -> None:
    me.sends(daemon, "say: zebra race", daemon.home)
    me.sends(daemon, "say: rsync pics", daemon.home, new_conversation=True)
    wait_until_found(daemon, "zebra", "rsync")


def test_a_search_by_hand_finds_and_marks(person: Begin, daemon: Daemon) -> None:
    me = person()
    two_conversations(me, daemon)
    lines = me.line("efr search rsync")
    assert re.fullmatch(
        r"say: rsync pics  no project  just now  1 turn   this terminal   [0-9a-f-]{8,}",
        lines[0],
    )
    assert lines[-1] == "efr resume <id> continues one here"
    assert me.line("efr search nowhere-to-be-found") == ["nothing was found"]
    assert me.line("efr search " + "word " * 17 + "; echo status=$?")[-1] == "status=2"
    short = lines[0].split()[-1]
    assert me.line(f"efr resume {short}") == ['↪ resumed "say: rsync pics" (no project, just now)']


def test_a_delete_by_hand_takes_a_yes(person: Begin, daemon: Daemon) -> None:
    me = person()
    two_conversations(me, daemon)
    short = me.line("efr search zebra")[0].split()[-1]
    asks = 'Delete "say: zebra race"? Nothing takes a delete back. [y/N]'
    for key in ("\r", "\x1b", "Y", "n"):
        kept = me.line(f"efr conversation delete {short}", ("back. [y/N]", key))
        assert kept[-2:] == [asks, "nothing was deleted"]
        me.clear()
    assert me.line(f"efr conversation delete {short}", ("back. [y/N]", "y")) == [
        asks,
        'deleted "say: zebra race"',
    ]
    assert me.line("efr search zebra") == ["nothing was found"]
    assert not any("zebra" in line for line in me.line("efr history")[1:])


def test_a_delete_while_a_turn_runs_asks_again(person: Begin, daemon: Daemon) -> None:
    me, other = person(), person()
    other.terminal.type(", sleep 60\r")
    other.terminal.wait_for("no project")
    with connect(daemon.env) as efr:
        found = efr.call("conversations.list").conversations[0].id
    held = f'"sleep 60" is open in {other.terminal.tty}. Delete it there too? [y/N]'
    stop = 'A turn runs in "sleep 60". Stop it and delete? [y/N]'
    lines = me.line(
        f"efr conversation delete {found}", ("back. [y/N]", "y"), (held, "y"), (stop, "n")
    )
    assert lines[-1] == "nothing was deleted"
    lines = me.line(f"efr conversation delete {found} --force")
    assert lines[-1].startswith('deleted "sleep 60"')
