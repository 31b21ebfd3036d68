"""What a person does at a terminal, by keys: passwords, two conversations, notices."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from efr.client import connect
from efr.client.errors import Refused
from efr.wire import events as ev
from efr.wire import types as t
from tests.e2e.conftest import Zsh, prompts
from tests.harness.daemon import Daemon
from tests.harness.terminal import Terminal

PASSWORD = "correct-horse-7261"

ASKS = """#!{python} -I
import getpass, hashlib, os, sys
words = []
for attempt in range(3):
    word = getpass.getpass("[sudo] password for you: ")
    if hashlib.sha256(word.encode()).hexdigest() == "{digest}":
        print("the password was right")
        sys.exit(0)
    print("Sorry, try again.")
sys.exit(1)
"""


def traces(word: str, *folders: Path) -> list[Path]:
    """The files below the folders that hold the word."""
    return [
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and word.encode() in file.read_bytes()
    ]


def ask(terminal: Terminal, line: str) -> None:
    """Sends a prompt that runs a command, and allows it."""
    terminal.type(f", run: {line}\r")
    terminal.wait_for("y allow")
    terminal.type("y")


def test_a_password_reaches_only_the_program_that_asked(
    zsh: Zsh, daemon: Daemon, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "asks"
    digest = hashlib.sha256(PASSWORD.encode()).hexdigest()
    program.write_text(ASKS.format(python=sys.executable, digest=digest))
    program.chmod(0o755)
    terminal = zsh()
    ask(terminal, str(program))
    terminal.wait_for("[sudo] password for you:")
    terminal.type("wrong-one-5532\r")
    terminal.wait_for(lambda t: t.everything.count("password for you:") >= 2)
    terminal.wait_for(lambda t: "not shown" in t.text.split("try again")[-1])
    terminal.type(PASSWORD + "\r")
    prompts(terminal, 2)
    assert "the password was right" in terminal.everything
    daemon.stop()
    for word in (PASSWORD, "wrong-one-5532"):
        assert word.encode() not in terminal.raw
        assert traces(word, daemon.roots.data.path, daemon.roots.state.path,
                      daemon.roots.runtime.path, daemon.home) == []  # fmt: skip
        assert word not in daemon.log


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("sudo") is None, reason="needs root to make a user for sudo"
)
def test_sudo_itself(zsh: Zsh, daemon: Daemon, tmp_path: Path) -> None:
    """A throwaway user whose sudo wants that user's password."""
    name = f"efr{os.getpid() % 100000}"
    subprocess.run(["useradd", "-M", "-s", "/bin/sh", name], check=True)
    rule = Path("/etc/sudoers.d") / name
    try:
        subprocess.run(["chpasswd"], input=f"{name}:{PASSWORD}\n", text=True, check=True)
        rule.write_text(f"{name} ALL=(ALL) /usr/bin/true\n")
        rule.chmod(0o440)
        terminal = zsh()
        ask(
            terminal,
            f"setpriv --reuid={name} --clear-groups sh -c 'sudo -k; sudo true && echo became-root'",
        )
        terminal.wait_for(lambda t: f"password for {name}" in t.everything)
        terminal.wait_for("not shown")
        terminal.type(PASSWORD + "\r")
        prompts(terminal, 2)
        assert "became-root" in terminal.everything.split("password for")[-1]
        daemon.stop()
        assert PASSWORD.encode() not in terminal.raw
        assert traces(PASSWORD, tmp_path, daemon.roots.runtime.path) == []
    finally:
        rule.unlink(missing_ok=True)
        subprocess.run(["userdel", name], check=True)


def test_two_terminals_have_two_conversations_that_do_not_mix(zsh: Zsh) -> None:
    one, two = zsh(), zsh()
    one.type(", run: echo $((11 * 11))-one; sleep 1; export WHO=first\r")
    two.type(", run: echo $((12 * 12))-two; sleep 1; export WHO=second\r")
    for terminal in (one, two):
        terminal.wait_for("y allow")
        terminal.type("y")
    prompts(one, 2)
    prompts(two, 2)
    assert "121-one" in one.everything
    assert "144-two" not in one.everything
    assert "144-two" in two.everything
    assert "121-one" not in two.everything
    ask(one, "echo I am $WHO")
    ask(two, "echo I am $WHO")
    prompts(one, 3)
    prompts(two, 3)
    assert "I am first" in one.everything
    assert "I am second" in two.everything


def test_an_interrupt_stops_the_command_and_the_turn(zsh: Zsh) -> None:
    terminal = zsh()
    ask(terminal, "touch started; sleep 600; touch finished")
    terminal.wait_for("✓ allowed")
    terminal.wait_for(lambda t: "sleep 600" in t.text.split("allowed")[-1])
    terminal.type("\x03")
    prompts(terminal, 2)
    terminal.type("echo status=$?\r")
    terminal.wait_for("status=130")


def test_a_denied_call_does_not_run(zsh: Zsh, daemon: Daemon) -> None:
    terminal = zsh()
    terminal.type(", run: touch never\r")
    terminal.wait_for("y allow")
    terminal.type("n")
    prompts(terminal, 2)
    assert "✗ denied" in terminal.everything
    assert not (daemon.home / "never").exists()


def test_another_client_answers_and_a_rule_of_the_user_ends_the_questions(
    zsh: Zsh, daemon: Daemon
) -> None:
    terminal = zsh()
    terminal.type(", run: sleep 0 && touch never\r")
    terminal.wait_for("y allow")
    with connect(daemon.env) as efr:
        (row,) = efr.call("conversations.list").conversations
        page = efr.call("conversation.history", conversation_id=row.id)
        asked = next(e.event for e in page.events if isinstance(e.event, ev.ApprovalRequested))
        answer = {"conversation_id": row.id, "call_id": asked.call_id}
        efr.call("approval.respond", **answer, decision=t.ApprovalDecision.DENY)
        prompts(terminal, 2)
        assert "✗ denied on cli" in terminal.everything
        assert not (daemon.home / "never").exists()
        with pytest.raises(Refused) as caught:
            efr.call("approval.respond", **answer, decision=t.ApprovalDecision.ALLOW)
        assert caught.value.code == "not_found"
        with daemon.roots.config_file.open("a") as file:
            file.write(
                "[[permissions.rules]]\naction = 'execute'\neffect = 'allow'\n"
                "resource = { command = { program = 'sleep', max_operands = 1 } }\n"
            )
        assert efr.call("admin.config_reload").applied
    terminal.type(", run: sleep 0 && echo slept\r")
    prompts(terminal, 3)
    assert "✓ allowed" not in terminal.everything, "nobody was asked"
    assert "and printed:\nslept" in terminal.everything


def test_the_line_stays_in_history_and_runs_nothing_by_itself(zsh: Zsh, daemon: Daemon) -> None:
    terminal = zsh()
    line = ", it's * > x; touch y $(touch z)"
    terminal.type(line + "\r")
    prompts(terminal, 2)
    terminal.type("fc -ln -1\r")
    terminal.wait_for(lambda t: t.text.count(line) >= 2)
    assert [p.name for p in daemon.home.iterdir() if p.name in "xyz"] == []


def test_without_a_daemon_the_way_to_start_it_is_named(zsh: Zsh, daemon: Daemon) -> None:
    terminal = zsh()
    daemon.stop()
    terminal.type(", hi\r")
    terminal.wait_for("systemctl --user start efrd")
    terminal.type("echo status=$?\r")
    terminal.wait_for("status=3")


def test_a_thread_dump_names_every_thread(daemon: Daemon) -> None:
    """py-spy reads the names that docs/architecture.md lists."""
    with connect(daemon.env) as efr:
        efr.call("prompt.send", text="count 3000")
        dump = subprocess.run(
            [str(Path(sys.executable).parent / "py-spy"), "dump", "--pid", str(daemon.pid)],
            capture_output=True,
            text=True,
        )
    if "Permission" in dump.stderr or "ptrace" in dump.stderr.lower():
        pytest.skip("this machine does not allow ptrace")
    names = {line.split('"')[1] for line in dump.stdout.splitlines() if line.startswith("Thread")}
    table = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text()
    known = [row.split("`")[1] for row in table.splitlines() if row.startswith("| `")]
    stems = tuple(name.replace("-N", "-").replace("<id8>", "") for name in known)
    assert {"socket-server", "store-writer", "pty-reader", "timer"} <= names
    assert any(name.startswith("conversation-") for name in names)
    assert [n for n in names if not n.startswith(stems) and n != "MainThread"] == []
