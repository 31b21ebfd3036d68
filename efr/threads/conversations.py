"""The threads `conversation-<id8>`: each runs the work of one conversation while it has any.

<id8> is the last eight hex digits of the conversation's id (the first eight are its time, so
conversations of one minute share them). A thread is started by the conversation when work comes
and ends when the conversation says that there is none; what it runs is told by `efr.agent`.

Work that raises reports through `fatal` and takes the daemon down: the agent turns every failure
of a turn into an event, so an exception here is a broken rule. `stop()` only joins; the agent has
interrupted its turns before.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from efr.base.clock import Clock

log = logging.getLogger("efr.threads")


class WorkersStopped(Exception):
    """Work came after stop()."""


class ConversationWorkers:
    """Starts and joins the conversations' threads. Any thread may call."""

    def __init__(self, clock: Clock, fatal: Callable[[str, BaseException], None]) -> None:
        self._clock = clock
        self._fatal = fatal
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._stopping = False

    def start(self, conversation_id: str, run: Callable[[], None]) -> None:
        """Runs `run` on a thread of that conversation. Raises WorkersStopped after stop()."""
        name = f"conversation-{conversation_id[-8:]}"
        thread = threading.Thread(target=self._work, args=(run,), name=name)
        with self._lock:
            if self._stopping:
                raise WorkersStopped
            self._threads.add(thread)
        try:
            thread.start()
        except BaseException:
            with self._lock:
                self._threads.discard(thread)
            raise

    def stop(self, deadline: float) -> list[str]:
        """Joins every thread until the monotonic deadline; returns the names that missed it."""
        with self._lock:
            self._stopping = True
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        return sorted(thread.name for thread in threads if thread.is_alive())

    @property
    def count(self) -> int:
        """How many conversations work now."""
        with self._lock:
            return len(self._threads)

    def _work(self, run: Callable[[], None]) -> None:
        thread = threading.current_thread()
        try:
            run()
        except BaseException as exc:
            log.exception("%s ended by an exception", thread.name)
            self._fatal(thread.name, exc)
        finally:
            with self._lock:
                self._threads.discard(thread)
