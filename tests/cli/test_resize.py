"""A real tmux pane whose size changes during a turn: nothing is doubled, lost or left behind."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.fake_daemon import FakeDaemon
from tests.cli.programs import EFR, environment

SIZES = [(60, 24), (40, 24), (120, 24), (35, 24), (100, 24), (80, 24)]
SIZES += [(80, 15), (80, 30), (80, 10), (80, 24), (50, 12), (80, 24)]
LIMIT_S = 15.0
PROSE = "A paragraph that is long enough to wrap at forty columns, with many words in it."
OPEN = "An open block that is long too and has to be folded in the live zone"


class Pane:
    """One window of a tmux server of its own."""

    def __init__(self, folder: Path, command: str, env: dict[str, str]) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]
        size = ["-x", "80", "-y", "24"]
        words = " ".join(f"{name}={shlex.quote(value)}" for name, value in env.items())
        self._do("new-session", "-d", *size, f"env {words} sh -c {shlex.quote(command)}")

    def _do(self, *args: str) -> str:
        return subprocess.run([*self._tmux, *args], capture_output=True, text=True).stdout

    def resize(self, columns: int, rows: int) -> None:
        self._do("resize-window", "-x", str(columns), "-y", str(rows))

    @property
    def text(self) -> str:
        return self._do("capture-pane", "-p")

    @property
    def everything(self) -> str:
        """Scrollback and screen, wrapped rows joined."""
        return self._do("capture-pane", "-p", "-J", "-S", "-")

    def wait_for(self, wanted: str) -> None:
        deadline = time.monotonic() + LIMIT_S
        while wanted not in self.text:
            assert time.monotonic() < deadline, f"{wanted!r} did not come:\n{self.everything}"

    def close(self) -> None:
        self._do("kill-server")


@pytest.fixture
def fake() -> Iterator[FakeDaemon]:
    with FakeDaemon() as daemon:
        yield daemon


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
def test_resizes_leave_each_row_once(fake: FakeDaemon) -> None:
    command = f"seq -f 'line %g' 40; {shlex.join([*EFR, 'send', 'hi'])}; echo over; read x"
    pane = Pane(fake.folder, command, environment({**fake.env, "TERM": "screen-256color"}))
    try:
        peer = fake.accept()
        peer.start()
        peer.text(f"{PROSE}\n\n{OPEN}")
        for number, (columns, rows) in enumerate(SIZES, start=1):
            pane.resize(columns, rows)
            peer.draft(kind="context", tokens=number, limit=100, window=100)
            pane.wait_for(f"ctx {number}%")
        peer.say(f"{PROSE}\n\n{OPEN} end")
        peer.complete()
        pane.wait_for("over")
        rows_of_pane = [row.rstrip() for row in pane.everything.split("\n") if row.strip()]
    finally:
        pane.close()

    assert rows_of_pane[:40] == [f"line {number}" for number in range(1, 41)]
    shown = rows_of_pane[40:]
    assert shown[:3] == ["○ no project · /", PROSE, f"{OPEN} end"]
    assert shown[3].endswith("1.2k in · 34 out")
    assert shown[4:] == ["over"]
