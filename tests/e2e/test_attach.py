"""The hidden shell's screen in a real terminal: full-screen programs, detaching, every way out."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from efr.client import connect
from efr.client.connection import Connection
from efr.shell.feeder import Feeder
from efr.shell.screen import TerminalScreen
from efr.wire import events as ev
from efr.wire import types as t
from tests.daemon.test_attach import Left, Screen, one, turn
from tests.harness.daemon import ROOT, Daemon
from tests.harness.model_server import ModelServer
from tests.harness.terminal import Terminal

EFR = [sys.executable, "-P", str(ROOT / "efr_cli.py")]
DETACH = "\x1d"
DETACHED = "detached; efr attach comes back"
ASKS = "bash -c 'read -p \"Name? \" name; echo hello $name'"


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(name="daemon", scope="module")
def _daemon(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Iterator[Daemon]:
    with Daemon(tmp_path_factory.mktemp("daemon"), settings=server.settings) as daemon:
        yield daemon


@pytest.fixture(name="efr")
def _efr(daemon: Daemon) -> Iterator[Connection]:
    with connect(daemon.env) as efr:
        yield efr


@contextmanager
def attached(daemon: Daemon, left: Left, columns: int, rows: int) -> Iterator[Terminal]:
    """`efr attach` in a terminal, which must be as it was when `efr` has ended."""
    script = 'echo "a line of mine"; stty -a > "$1"; "$2" -P "$3" attach "$4"; echo "ended with $?"'
    modes = daemon.folder / "modes"
    argv = ["sh", "-c", script, "sh", str(modes), EFR[0], EFR[2], left.conversation_id]
    env = {**daemon.env, "TERM": "xterm-256color"}
    with Terminal(argv, env, daemon.home, columns=columns, rows=rows) as terminal:
        kept = os.open(terminal.tty, os.O_RDWR | os.O_NOCTTY)
        try:
            before = termios.tcgetattr(kept)
            yield terminal
            terminal.wait_for("ended with")
            assert termios.tcgetattr(kept) == before
            assert terminal.raw.count(b"\x1b[?1049h") == terminal.raw.count(b"\x1b[?1049l") == 1
            assert terminal.raw.rindex(b"\x1b[?7;25h") > terminal.raw.rfind(b"\x1b[?25l")
        finally:
            os.close(kept)


def cli(daemon: Daemon, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*EFR, *words], env=daemon.env, cwd=daemon.home, capture_output=True, text=True, timeout=30
    )


def last_row(terminal: Terminal) -> str:
    return terminal.text.rpartition("\n")[2]


def cursor_row(terminal: Terminal) -> str:
    return terminal.screen.display[terminal.screen.cursor.y].rstrip()


def main_screen(terminal: Terminal, columns: int, rows: int) -> list[str]:
    """What a terminal with an alternate screen, unlike the harness's, shows in the end."""
    screen = TerminalScreen(columns, rows)
    Feeder(screen).feed(terminal.raw)
    assert not screen.alternate
    return [row for row in screen.texts(0, rows - 1) if row]


def numbers(terminal: Terminal) -> list[str]:
    return [row for row in terminal.text.splitlines() if row.startswith("line ")]


def test_vim(efr: Connection, daemon: Daemon, server: ModelServer) -> None:
    file = daemon.home / "a.txt"
    file.write_text("".join(f"line {n}\n" for n in range(1, 200)))
    left = Left(efr, server, "vim -u NONE -N a.txt")
    with attached(daemon, left, 70, 20) as terminal:
        terminal.wait_for(lambda t: numbers(t) == [f"line {n}" for n in range(1, 20)])
        terminal.type("\x1b[B" * 4 + "onew words\x1b")
        terminal.wait_for(lambda t: t.text.splitlines()[4:7] == ["line 5", "new words", "line 6"])
        with attached(daemon, left, 60, 10) as other:
            other.wait_for(lambda t: len(numbers(t)) == 8)
            terminal.wait_for(lambda t: len(numbers(t)) == 8)  # the last to ask decides
            terminal.type("\x1b")
            terminal.wait_for(lambda t: len(numbers(t)) == 18)  # or to type
            # The other one shows a part: its edges are not those of the screen.
            terminal.type(":echo 'below it'\r")
            terminal.wait_for("below it")
            terminal.type("G")
            other.wait_for(lambda t: last_row(t) == "line 199" and len(numbers(t)) == 10)
            assert b"below it" not in other.raw
            terminal.type("gg6G")
            other.wait_for(lambda t: "new words" in t.text)
            other.type(DETACH)
        terminal.resize(50, 9)
        terminal.wait_for(lambda t: len(numbers(t)) == 7 and "new words" in t.text)
        terminal.type(DETACH)
        terminal.wait_for(DETACHED)
    assert "ended with 0" in terminal.text
    with attached(daemon, left, 60, 12) as terminal:
        terminal.wait_for(lambda t: len(numbers(t)) == 10 and cursor_row(t) == "new words")
        rows = terminal.text.splitlines()
        at = rows.index("new words")
        assert (rows[at - 1], rows[at + 1]) == ("line 5", "line 6")
        assert b"\x1b[?1h" in terminal.raw, "vim takes arrows as an application does"
        terminal.type("GA, the last\x1b:wq\r")
        terminal.wait_for(lambda t: last_row(t) == "efr>")
        terminal.type(DETACH)
    assert left.ended(efr).how is t.ShellCommandEnd.ENDED
    assert file.read_text().endswith("line 198\nline 199, the last\n")
    assert "line 5\nnew words\nline 6\n" in file.read_text()


@pytest.mark.skipif(shutil.which("htop") is None, reason="needs htop")
def test_htop(efr: Connection, daemon: Daemon, server: ModelServer) -> None:
    left = Left(efr, server, "htop -d 5 --no-color")
    for columns, rows in ((100, 30), (60, 15)):
        with attached(daemon, left, columns, rows) as terminal:
            terminal.wait_for(lambda t: "F1Help" in last_row(t) and "PID" in t.text)
            assert len(terminal.text.splitlines()) == rows
            terminal.type("\x1bOP")  # F1: its help, and any key goes back
            terminal.wait_for("Released under the GNU GPL")
            terminal.type(" ")
            terminal.wait_for(lambda t: "F1Help" in last_row(t))
            assert b"\x1b[?1h" in terminal.raw
            terminal.type(DETACH)
            terminal.wait_for(DETACHED)
    with attached(daemon, left, 80, 24) as terminal:
        terminal.wait_for("PID")
        terminal.type("q")
        terminal.wait_for(lambda t: t.text.endswith("efr>"))
        terminal.type(DETACH)
    assert left.ended(efr).how is t.ShellCommandEnd.ENDED


def test_status_stop_close_and_a_shell_that_ends(
    efr: Connection, daemon: Daemon, server: ModelServer
) -> None:
    left = Left(efr, server, ASKS)
    here = left.conversation_id[:23]
    with attached(daemon, left, 80, 24) as terminal:
        terminal.wait_for("Name?")
        status = cli(daemon, "shell", "status", here)
        assert status.stdout.splitlines()[0] == ASKS
        assert "outside of the sandbox; you allowed it" in status.stdout
        assert "efr shell stop" in status.stdout
        stop = cli(daemon, "shell", "stop", f"--conversation={here}")
        assert (stop.returncode, stop.stderr) == (0, f"stopping: {ASKS}\n")
        assert left.ended(efr).how is t.ShellCommandEnd.STOPPED
        assert cli(daemon, "shell", "status", here).stdout == "nothing runs in the hidden shell\n"
        close = cli(daemon, "shell", "close", here)
        assert (close.returncode, close.stderr) == (0, "closing the hidden shell\n")
        terminal.wait_for("the hidden shell ended")
    rows = ["a line of mine", "the hidden shell ended", "ended with 0"]
    assert main_screen(terminal, 80, 24) == rows
    assert cli(daemon, "attach", here).returncode == 2


def test_the_terminal_is_given_back_on_every_other_way_out(
    efr: Connection, daemon: Daemon, server: ModelServer
) -> None:
    _, events = turn(efr, server, "nohup sleep 1000 >/dev/null 2>&1 & echo pid $!")
    stays = int(one(events, ev.ToolCallCompleted).output.partition("pid ")[2].split()[0])
    stray = os.pidfd_open(stays)
    left = Left(efr, server, "vim -u NONE -N -c 'set mouse=a'")
    for number in (signal.SIGTERM, signal.SIGHUP):
        with attached(daemon, left, 60, 12) as terminal:
            terminal.wait_for("~\n~\n~")
            os.kill(child_of(terminal), number)
            terminal.wait_for(f"ended with {128 + number}")
        assert b"\x1b[?1000h" in terminal.raw or b"\x1b[?1002h" in terminal.raw
    with attached(daemon, left, 60, 12) as terminal:
        terminal.wait_for("~\n~\n~")
        daemon.kill()
        terminal.wait_for("ended with 1")
    rows = main_screen(terminal, 60, 12)
    assert rows[:2] == ["a line of mine", "efr: the connection to efrd was lost"]
    (segment,) = (daemon.roots.recordings / left.pty_id).iterdir()
    segment.write_bytes(segment.read_bytes() + b"efr\x01\xff\x00\x00\x00torn")
    assert not select.select([stray], [], [], 0)[0]
    daemon.start()
    assert select.select([stray], [], [], 15)[0], "nothing goes on by itself"
    os.close(stray)
    with connect(daemon.env) as again:
        assert left.ended(again).how is t.ShellCommandEnd.SHELL_EXITED
        replayed = Screen(again, left.pty_id, 0)
        replayed.read_to_end()
    assert b"VIM - Vi IMproved" in replayed.data
    assert b"torn" not in replayed.data
    with Terminal([*EFR, "attach", left.conversation_id], daemon.env, daemon.home) as terminal:
        assert terminal.read_to_end() == 1
    assert terminal.text == "efr: the conversation has no hidden shell now"
    assert b"\x1b" not in terminal.raw


def child_of(terminal: Terminal) -> int:
    """The efr that the terminal's script runs."""
    pid = terminal.process.pid
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[-1])
