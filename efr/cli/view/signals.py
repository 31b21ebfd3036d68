"""Signals of the command as bytes in a pipe that a selector can wait on.

Owns the handlers while it is open and gives the old ones back. A handler does nothing: Python
writes the signal's number into the pipe, the loop reads it and decides. Light: `HANDLED` is
blocked before the prompt goes out, and unblocked here.
"""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType

HANDLED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGWINCH,
    signal.SIGTSTP,
    signal.SIGQUIT,
)


class Signals:
    """The open pipe. Made and used on the main thread; a context manager."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        self._old_pipe = -1
        self._old: dict[int, signal.Handlers | object] = {}

    def __enter__(self) -> Signals:
        self._old_pipe = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in HANDLED:
            self._old[number] = signal.signal(number, _nothing)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)  # what came before comes now
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        signal.set_wakeup_fd(self._old_pipe)
        os.close(self._read)
        os.close(self._write)

    def fileno(self) -> int:
        """For a selector."""
        return self._read

    def read(self) -> list[int]:
        """The signals that came since the last call, in order."""
        try:
            return list(os.read(self._read, 4096))
        except BlockingIOError:
            return []


def stop_here() -> None:
    """Stops this process until the shell continues it."""
    os.kill(os.getpid(), signal.SIGSTOP)


def _nothing(number: int, frame: FrameType | None) -> None:
    """Python's own handler wrote the number into the pipe already."""


def die_of(number: int) -> None:
    """Ends the process by the signal, so that its parent sees the right status."""
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
