"""A terminal that did not see the end of a turn is told at its next prompt."""

from __future__ import annotations

import time

from tests.conversations.conftest import Open
from tests.conversations.terminals import follow
from tests.harness.daemon import Daemon

LIMIT_S = 20


def lines(daemon: Daemon, tty: str) -> list[str]:
    file = daemon.roots.notices / tty.removeprefix("/dev/").replace("/", "-")
    return file.read_text().splitlines() if file.exists() else []


def test_who_follows_to_the_end_gets_no_line_and_who_left_gets_one(
    daemon: Daemon, open_terminal: Open
) -> None:
    watching, left = open_terminal(1), open_terminal(2)
    with daemon.client("cli", tty=watching.tty) as client:
        follow(client, watching.send("say: seen", daemon.home))
        left.prompt("say: not seen", daemon.home)  # its own terminal does not look
        deadline = time.monotonic() + LIMIT_S
        while not lines(daemon, left.tty):  # written once its connection is gone
            assert time.monotonic() < deadline
            client.call("models.list")
        assert "say: not seen" in lines(daemon, left.tty)[0]
        assert lines(daemon, watching.tty) == []
