"""A real terminal for tests: a program on a PTY of its own, its screen read by pyte.

Nothing sleeps: `wait_for` reads what the program prints until the predicate holds, and fails with
the screen when the time is over.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte


class Terminal:
    """One program on one PTY. `raw` keeps every byte it printed."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: Path | str,
        *,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self.screen = pyte.HistoryScreen(columns, rows, history=5000, ratio=0.5)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.tty = os.ttyname(slave)
        self.process = subprocess.Popen(
            list(argv),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=dict(env),
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the program's session and waits for it."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGHUP)
        os.close(self._master)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(5)

    def type(self, text: str | bytes) -> None:
        """Sends keys."""
        data = text.encode() if isinstance(text, str) else text
        while data:
            data = data[os.write(self._master, data[:1024]) :]

    def resize(self, columns: int, rows: int) -> None:
        """Changes the window, as a user drags its corner."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    @property
    def text(self) -> str:
        """The screen's rows, right-trimmed, without the empty ones at the end."""
        return "\n".join(row.rstrip() for row in self.screen.display).rstrip()

    @property
    def everything(self) -> str:
        """Scrollback and screen."""
        old = [
            "".join(line[x].data for x in range(self.screen.columns)).rstrip()
            for line in self.screen.history.top
        ]
        return "\n".join([*old, self.text])

    def wait_for(self, wanted: str | Callable[[Terminal], bool], timeout_s: float = 15) -> Terminal:
        """Reads until the screen holds `wanted` (or the predicate holds)."""
        holds = (lambda t: wanted in t.text) if isinstance(wanted, str) else wanted
        deadline = time.monotonic() + timeout_s
        while not holds(self):
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                if holds(self):
                    return self
                name = repr(wanted) if isinstance(wanted, str) else "what was waited for"
                raise AssertionError(f"{name} did not come; the screen:\n{self.everything}")
        return self

    def read_to_end(self, timeout_s: float = 15) -> int:
        """Reads until the program ends; returns its status."""
        deadline = time.monotonic() + timeout_s
        while self._read(max(0.0, deadline - time.monotonic())):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic()))

    def _read(self, timeout_s: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], timeout_s)
        if not ready:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        if not data:
            return False
        self.raw += data
        self._stream.feed(data)
        return True
