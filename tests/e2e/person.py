"""Somebody at one terminal with the plugin in a real zsh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conversations.terminals import command_id, follow
from tests.e2e.conftest import prompts
from tests.harness.daemon import Daemon
from tests.harness.terminal import Terminal

MARK = "%# "
DEMO = "This is efr's offline demo"  # once in each conversation


class Person:
    """Somebody at one terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self._prompts = 1

    def line(self, text: str, *keys: tuple[str, str]) -> list[str]:
        """Types a line, answers what shows, and gives what stands before the next prompt."""
        self.terminal.type(text + "\r")
        for shown, key in keys:
            self.terminal.wait_for(shown)
            self.terminal.type(key)
        self._prompts += 1
        prompts(self.terminal, self._prompts)
        rows = self.terminal.everything.splitlines()
        marks = [i for i, row in enumerate(rows) if row.startswith(MARK.strip())]
        return [row for row in rows[marks[-2] + 1 : marks[-1]] if row]

    def clear(self) -> None:
        """An empty screen with one prompt."""
        self.terminal.type("clear\r")
        self.terminal.wait_for(lambda t: t.text == MARK.strip())
        self.terminal.screen.history.top.clear()
        self._prompts = 1

    def ask(self, text: str) -> list[str]:
        """A prompt of which the demo says the text back; the first lines of its reply."""
        lines = self.line(f", say: {text}")
        ends = [i for i, line in enumerate(lines) if line == text or line.startswith(DEMO)]
        return lines[: ends[0]]

    def sends(self, daemon: Daemon, text: str, pwd: Path, **params: Any) -> Any:
        """A prompt of this terminal that ran to its end, without its keys and its reply."""
        context = {"pwd": str(pwd), "tty": self.terminal.tty, "shell_pid": self.shell_pid}
        with daemon.client("shell", tty=self.terminal.tty) as client:
            sent = client.call(
                "prompt.send",
                {"command_id": command_id(), "text": text, "context": context, **params},
            )
            follow(client, sent)
        return sent

    @property
    def shell_pid(self) -> int:
        return self.terminal.process.pid
