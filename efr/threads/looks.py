"""The `look-N` threads: one look at a file system each, so that nobody hangs with a dead mount.

A look starts a thread and waits for it, but not for ever: after the limit the caller goes on, and
the thread stays where the kernel holds it. Until it comes back the same thing is not looked at
again, so that a mount that is gone costs one thread and not all of them. With 8 of them in use a
caller waits for a free one within its own limit.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any, Final, TypeVar

from efr.agent.place import LookTimedOut
from efr.base.clock import Clock
from efr.threads.reply import Reply

LOOKS: Final = 8  # a look takes less than a millisecond; more of them at once are stuck
LIMIT_S: Final = 5.0  # how long a turn waits for its place (scope: git discovery)

_log = logging.getLogger("efr.threads")

T = TypeVar("T")


class Looks:
    """The looks that run. Any thread may look."""

    def __init__(self, clock: Clock, limit: int = LOOKS, limit_s: float = LIMIT_S) -> None:
        self._clock = clock
        self._limit = limit
        self._limit_s = limit_s
        self._changed = Condition()  # "looks"
        self._running: dict[int, Thread] = {}  # at most `limit`, by number
        self._late: dict[Thread, str] = {}  # what a thread is stuck at
        self._stopped = False

    def look(self, what: str, fn: Callable[[], T]) -> T:
        """What `fn` returns or raises. Raises LookTimedOut after the limit, at once when a look at
        the same thing is late already, and after the stop."""
        deadline = self._clock.monotonic() + self._limit_s
        reply: Reply[T] = Reply()
        thread = self._begin(what, fn, reply)
        try:
            return reply.result(max(0.0, deadline - self._clock.monotonic()))
        except TimeoutError:
            if self._is_late(thread, what):
                raise LookTimedOut(what) from None
            return reply.result()  # it came now, or the system itself says "timed out"

    def stop(self, deadline: float) -> list[str]:
        """Lets no look begin any more and joins; returns the names of those that miss `deadline`.

        May be called twice.
        """
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            running = [thread for thread in self._running.values() if thread.ident is not None]
        for thread in running:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        return [thread.name for thread in running if thread.is_alive()]

    def _begin(self, what: str, fn: Callable[[], T], reply: Reply[T]) -> Thread:
        with self._changed:
            if what in self._late.values() or not self._changed.wait_for(
                lambda: self._stopped or len(self._running) < self._limit, self._limit_s
            ):
                raise LookTimedOut(what)
            if self._stopped:
                raise LookTimedOut(what)
            number = next(n for n in range(1, self._limit + 1) if n not in self._running)
            thread = Thread(target=self._run, args=(number, fn, reply), name=f"look-{number}")
            self._running[number] = thread
        try:
            thread.start()
        except BaseException:
            self._end(number)
            raise
        return thread

    def _run(self, number: int, fn: Callable[[], Any], reply: Reply[Any]) -> None:
        try:
            result = fn()
        except Exception as exc:  # noqa: BLE001 - it is the caller's answer
            self._end(number)
            reply.set_exception(exc)
        else:
            self._end(number)
            reply.set_result(result)

    def _end(self, number: int) -> None:
        with self._changed:
            what = self._late.pop(self._running.pop(number), None)
            self._changed.notify_all()
        if what is not None:
            _log.info("%s answers again", what)

    def _is_late(self, thread: Thread, what: str) -> bool:
        """Whether the look still runs; then nobody else looks there."""
        with self._changed:
            if thread not in self._running.values():
                return False
            self._late[thread] = what
            return True
