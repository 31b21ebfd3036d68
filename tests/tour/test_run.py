"""`make run`: the tour without a terminal, and a shell that is used by keys in tmux."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parents[2]
RUN = f"{sys.executable} -m scripts.run"


def environment() -> dict[str, str]:
    """Ours, without what would choose another model."""
    models = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "EFR_MODEL_URL")
    return {k: v for k, v in os.environ.items() if k not in models}


def test_without_a_terminal_a_tour_is_played() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.run"],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("~ $ ,") == 3
    assert "main.py" in done.stdout
    assert done.stdout.count("✓ allowed") == 2
    assert "+remember the milk" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_an_end_from_outside_leaves_no_daemon(number: signal.Signals) -> None:
    """A terminal window that is closed sends SIGHUP."""
    run = subprocess.Popen(
        [sys.executable, "-m", "scripts.run"],
        cwd=ROOT,
        env=environment() | {"PYTHONUNBUFFERED": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with run:
        assert run.stdout is not None
        assert "so here is a tour" in run.stdout.readline()
        begun = psutil.Process(run.pid).children(recursive=True)
        [folder] = {one.environ()["EFR_HOME"] for one in begun if one.name() == "efrd"}
        run.send_signal(number)
        assert run.wait(20) == 128 + number
    assert not [one for one in begun if one.is_running() and one.name() == "efrd"]
    assert not Path(folder).exists()


class Tmux:
    """A private tmux server with one window."""

    def __init__(self, home: Path) -> None:
        self._socket = home / "tmux"
        self._home = home
        self._run(
            "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "40",
            f"cd {ROOT} && {RUN}; echo ended=$?; exec cat",
        )  # fmt: skip

    def _run(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-S", str(self._socket), *words],
            env={**environment(), "HOME": str(self._home), "LANG": "C.UTF-8", "SHELL": "/bin/sh"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def keys(self, *keys: str) -> None:
        """Presses keys."""
        self._run("send-keys", *keys)

    def line(self, text: str) -> None:
        """Types a line and Enter."""
        self._run("send-keys", "-l", text)
        self.keys("Enter")

    @property
    def screen(self) -> str:
        return self._run("capture-pane", "-p", "-S", "-200")

    def wait_for(self, wanted: str | Callable[[str], bool], timeout_s: float = 25) -> str:
        """Looks at the pane until it holds what is wanted; tmux has nothing to wait on."""
        holds = (lambda s: wanted in s) if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + timeout_s
        while True:
            screen = self.screen
            if holds(screen):
                return screen
            assert time.monotonic() < deadline, f"{wanted!r} did not come:\n{screen}"
            time.sleep(0.05)

    def close(self) -> None:
        """Ends the server."""
        self._run("kill-server")


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    home = Path(tempfile.mkdtemp(prefix="efr-tmux-", dir="/tmp"))
    terminal = Tmux(home)
    yield terminal
    terminal.close()
    shutil.rmtree(home, ignore_errors=True)


def test_a_shell_with_a_prompt_a_question_an_interrupt_and_an_end(tmux: Tmux) -> None:
    tmux.wait_for(lambda s: s.rstrip().endswith("$"))
    tmux.line(", run: echo $((40 + 2))-is-it")
    tmux.wait_for("y allow")
    tmux.keys("y")
    tmux.wait_for("\n42-is-it")
    tmux.line(", sleep 600")
    tmux.wait_for(lambda s: "y allow" in s.split(", sleep 600")[-1])
    tmux.keys("y")
    tmux.wait_for(lambda s: "✓ allowed" in s.split(", sleep 600")[-1])
    tmux.keys("C-c")
    tmux.wait_for(lambda s: s.rstrip().endswith("$"))
    tmux.line("echo status=$?")
    screen = tmux.wait_for("status=130")
    assert "interrupted" in screen
    tmux.keys("C-d")
    tmux.wait_for("ended=0")
