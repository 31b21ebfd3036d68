"""The examples of docs/conversations.md and docs/efr.md, word for word, in a real zsh."""

from __future__ import annotations

import re
import sqlite3
import time
from pathlib import Path

from efr.client import connect
from tests.conversations.terminals import HOUR_US, Terminal, command_id, follow
from tests.e2e.conftest import Zsh, wait_until_found
from tests.e2e.person import Person
from tests.harness.daemon import Daemon

TOKEN = "ghp_" + "A1b2C3d4" * 5  # its form alone is a secret's
ASKS = 'Delete "why is the build slow"? Nothing takes a delete back. [y/N]'
OTHER, OLD = "/dev/pts/4000", "/dev/pts/4001"  # the page says /dev/pts/4, which may be a real one
HELD = f'"why is the build slow" is open in {OTHER}. '


def project(daemon: Daemon, name: str) -> Path:
    root = daemon.home / "p" / name
    root.mkdir(parents=True)
    with connect(daemon.env) as efr:
        efr.call("admin.project_add", path=str(root))
    return root


def let_pass(daemon: Daemon, hours: dict[str, float], untitled: str) -> None:
    """Lets hours pass for conversations, and takes the title of one: between two starts."""
    daemon.stop()
    with sqlite3.connect(daemon.roots.database) as conn:
        conn.executemany(
            "UPDATE conversations SET updated_at = updated_at - ? WHERE id = ?",
            [(round(passed * HOUR_US), one) for one, passed in hours.items()],
        )
        conn.execute("UPDATE conversations SET title = NULL WHERE id = ?", (untitled,))
    conn.close()
    daemon.start()


def test_the_documented_list_and_what_follows_from_it(daemon: Daemon, zsh: Zsh) -> None:
    app, gone = project(daemon, "app"), project(daemon, "gone")
    me = Person(zsh(columns=118, rows=40))
    with Terminal(daemon, OLD) as old:
        untitled = old.prompt("no title", gone)["conversation_id"]
    with Terminal(daemon, OTHER) as other:
        slow = other.prompt("why is the build slow", app)["conversation_id"]
        proxy = me.sends(daemon, "fix the proxy test", app)["conversation_id"]
        for _ in range(2):
            other.prompt("say: more", app)
        for _ in range(5):
            me.sends(daemon, "please look at the proxy again", app)
        with connect(daemon.env) as efr:
            efr.call("admin.project_remove", path=str(gone))
        let_pass(daemon, {proxy: 25 / 60, slow: 2, untitled: 3 * 24}, untitled)
        me.line("cd ~/p/app")
        assert me.line(",resume") == [
            " 1  fix the proxy test     app              25 min ago   6 turns   this terminal",
            f" 2  why is the build slow  app              2 h ago      3 turns   open in {OTHER}",
            " 3  (no title)             removed project  3 d ago       1 turn",
            ",resume N continues one here",
        ]
        assert me.line(",resume 2", ("[y/N]", "n")) == [
            HELD + "Move it here? [y/N]",
            "nothing moved",
        ]
        wait_until_found(daemon, "again", "slow")
        row, hit, end = me.line("efr search proxy again")
        assert re.fullmatch(
            r"fix the proxy test  app  25 min ago  6 turns   this terminal   +[0-9a-f-]{8,}", row
        )
        assert (hit, end) == (
            "    please look at the proxy again",
            "efr resume <id> continues one here",
        )
        assert me.line(",resume proxy again") == [
            " 1  fix the proxy test  app  25 min ago   6 turns   this terminal",
            "    please look at the proxy again",
            ",resume N continues one here",
        ]
        me.line("cd ~")
        assert me.line(f",resume {proxy}") == [
            '↪ resumed "fix the proxy test" (app, 25 min ago); it continues when you prompt in'
            " ~/p/app"
        ]
        keys = [("back. [y/N]", "y"), ("there too? [y/N]", "y")]
        assert me.line(f"efr conversation delete {slow}", *keys) == [
            ASKS,
            HELD + "Delete it there too? [y/N]",
            'deleted "why is the build slow"',
        ]
        assert not any("slow" in line for line in me.line("efr history")[1:])
        assert me.line("cd /; efr history --verbose")[:2] == [
            "> fix the proxy test",
            "cautious · demo",
        ]
        assert other.prompt("x", app)["conversation_id"] != slow


def test_scripts_delete_only_with_yes_and_the_model_finds_nothing(
    daemon: Daemon, zsh: Zsh, tmp_path: Path
) -> None:
    me = Person(zsh(columns=118, rows=60))
    kept = me.sends(daemon, f"use {TOKEN} now", daemon.home)["conversation_id"]
    refused = me.line(f"efr conversation delete {kept} </dev/null; echo status=$?")
    assert "--yes" in refused[-2]
    assert refused[-1] == "status=2"
    wait_until_found(daemon, "now")
    for line in (",resume", "efr search now", "efr history"):
        told = "\n".join(me.line(line))
        assert "use [***] now" in told
        assert TOKEN not in told

    efr = f"{tmp_path}/bin/efr"
    roots = f"EFR_HOME={daemon.env['EFR_HOME']} EFR_RUNTIME_DIR={daemon.env['EFR_RUNTIME_DIR']}"
    script = tmp_path / "asks"
    script.write_text(
        f"#!/bin/sh\nexport {roots}\n{efr} search now\necho one=$?\n"
        f"{efr} resume --take {kept}\necho two=$?\n"
    )
    script.chmod(0o755)
    told = "\n".join(me.line(f", run: {script}", ("y allow", "y")))
    assert "one=1" in told
    assert "two=1" in told
    assert told.count("is not for commands that the agent started") == 2


def test_a_turn_that_nobody_watched_is_told_before_the_next_prompt(
    daemon: Daemon, zsh: Zsh
) -> None:
    me = Person(zsh())
    context = {"pwd": "/", "tty": me.terminal.tty, "shell_pid": me.shell_pid}
    with daemon.client("shell") as client:
        params = {"command_id": command_id(), "text": "say: unseen", "context": context}
        follow(client, client.call("prompt.send", params))
    with daemon.client() as client:  # the one above might still have shown it
        notices = daemon.roots.notices / me.terminal.tty.removeprefix("/dev/").replace("/", "-")
        deadline = time.monotonic() + 20
        while not notices.exists():
            assert time.monotonic() < deadline
            client.call("models.list")
    assert me.line("true") == ['efr: "say: unseen" is done; efr history shows the answer']
    assert not notices.exists()
    assert me.line("true") == []
