"""What `main` waits for: words from signal handlers and from threads, never lost.

A handler that Python runs late is the trap: a signal that arrives after the interpreter looked for
one, and before the wait went to sleep, wakes nobody. So the C handler writes a byte into a pair of
sockets (`signal.set_wakeup_fd`), and `main` sleeps on its other end. Used on `main`; `put` from
any thread.
"""

from __future__ import annotations

import contextlib
import queue
import select
import signal
import socket
from typing import Generic, TypeVar

W = TypeVar("W")

_BYTES = 4096  # what one wake-up reads at most; more only wake `main` once more


class Words(Generic[W]):
    """An inbox that a signal wakes. Unbounded on purpose: a handler must never block."""

    def __init__(self) -> None:
        self._words: queue.SimpleQueue[W] = queue.SimpleQueue()
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)

    def put(self, word: W) -> None:
        """Leaves a word and wakes `main`. A full pair holds a wake-up already."""
        self._words.put(word)
        with contextlib.suppress(BlockingIOError, OSError):
            self._writer.send(b"\0")

    def get(self, timeout_s: float | None = None) -> W | None:
        """The next word; sleeps until there is one. None: there was none for so long."""
        while True:
            with contextlib.suppress(queue.Empty):
                return self._words.get_nowait()
            woken, _, _ = select.select([self._reader], [], [], timeout_s)
            if not woken:
                return None
            with contextlib.suppress(BlockingIOError):
                self._reader.recv(_BYTES)

    def close(self) -> None:
        """Gives the wake-up back. After it `put` only keeps words."""
        signal.set_wakeup_fd(self._before)
        self._reader.close()
        self._writer.close()
