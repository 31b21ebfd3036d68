"""Terminals of a real daemon: each has a name and a shell, which is a real process that only waits.

A prompt runs to its end on the offline demo. Who follows it has no terminal, so nothing but the
shell holds a conversation unless a test says so.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.daemon.test_methods import ENDS
from tests.harness.daemon import Daemon
from tests.harness.raw_client import Frame, RawClient

HOUR_US = 3_600_000_000


def command_id() -> str:
    raw = os.urandom(16).hex()
    return f"{raw[:8]}-{raw[8:12]}-{raw[12:16]}-{raw[16:20]}-{raw[20:]}"


class Terminal:
    """A terminal whose shell lives until `close`."""

    def __init__(self, daemon: Daemon, tty: str) -> None:
        self.daemon = daemon
        self.tty = tty
        self._shell = subprocess.Popen(["sleep", "infinity"])

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    @property
    def shell_pid(self) -> int:
        return self._shell.pid

    def close(self) -> None:
        """The shell ends."""
        self._shell.kill()
        self._shell.wait()

    def reopen(self) -> None:
        """Another shell on a terminal of the same name."""
        self.close()
        self._shell = subprocess.Popen(["sleep", "infinity"])

    def context(self, pwd: Path | str, **more: Any) -> dict[str, Any]:
        return {"pwd": str(pwd), "tty": self.tty, "shell_pid": self.shell_pid, **more}

    def send(self, text: str, pwd: Path | str, **params: Any) -> Any:
        """A prompt from that directory; its answer is not waited for."""
        context = self.context(pwd, **params.pop("context", {}))
        with self.daemon.client("shell", tty=self.tty) as client:
            return client.call(
                "prompt.send",
                {"command_id": command_id(), "text": text, "context": context, **params},
            )

    def prompt(self, text: str, pwd: Path | str, **params: Any) -> Any:
        """A prompt that ran to its end."""
        sent = self.send(text, pwd, **params)
        end(self.daemon, sent)
        return sent

    def resume(self, conversation_id: str, pwd: Path | str, *, take: bool = False) -> Any:
        with self.daemon.client("cli", tty=self.tty) as client:
            return client.call(
                "conversation.resume",
                {
                    "command_id": command_id(),
                    "conversation_id": conversation_id,
                    "context": self.context(pwd),
                    "take": take,
                },
            )

    def recent(self, pwd: Path | str, **params: Any) -> Any:
        with self.daemon.client() as client:
            return client.call(
                "conversations.recent", {"tty": self.tty, "pwd": str(pwd), "limit": 200, **params}
            )

    def row(self, pwd: Path | str, sent: Any) -> Any:
        """The row of a prompt's conversation in the recent list."""
        rows = self.recent(pwd)["conversations"]
        return next(one for one in rows if one["summary"]["id"] == sent["conversation_id"])


def end(daemon: Daemon, sent: Any) -> list[Frame]:
    """The events after a prompt, to the end of its turn."""
    with daemon.client() as client:
        return follow(client, sent)


def follow(client: RawClient, sent: Any) -> list[Frame]:
    request = client.request(
        "conversation.subscribe",
        {"conversation_id": sent["conversation_id"], "after_seq": sent["seq"]},
    )
    events: list[Frame] = []
    while True:
        frame = client.read()
        if frame.get("id") != request:
            continue
        assert "item" in frame, frame
        event = frame["item"]["event"]
        events.append(event)
        if event["kind"] in ENDS and event.get("turn_id") == sent["turn_id"]:
            return events


def answer(daemon: Daemon, sent: Any) -> str:
    """The model's last words to a prompt."""
    texts = [
        event["text"]
        for event in end(daemon, sent)
        if event["kind"] == "assistant_message_completed"
    ]
    return str(texts[-1])


def interrupt(daemon: Daemon, sent: Any) -> None:
    """Stops the running turn and waits for its end."""
    with daemon.client() as client:
        place = {"conversation_id": sent["conversation_id"]}
        client.call("turn.interrupt", {"command_id": command_id(), **place})
    end(daemon, sent)


def events_of(daemon: Daemon, conversation_id: str) -> list[Any]:
    with daemon.client() as client:
        page = client.call(
            "conversation.history", {"conversation_id": conversation_id, "limit": 500}
        )
    return [one["event"] for one in page["events"]]


def add_project(daemon: Daemon, path: Path | str, **params: Any) -> Any:
    with daemon.client() as client:
        return client.call("admin.project_add", {"path": str(path), **params})["project"]


def remove_project(daemon: Daemon, path: Path | str) -> Any:
    with daemon.client() as client:
        return client.call("admin.project_remove", {"path": str(path)})


def age(daemon: Daemon, *passed: tuple[Any, float]) -> None:
    """Lets hours pass for the conversations of prompts: the daemon stops and starts again."""
    daemon.stop()
    with sqlite3.connect(daemon.roots.database) as conn:
        conn.executemany(
            "UPDATE conversations SET updated_at = updated_at - ? WHERE id = ?",
            [(round(hours * HOUR_US), sent["conversation_id"]) for sent, hours in passed],
        )
    conn.close()
    daemon.start()
