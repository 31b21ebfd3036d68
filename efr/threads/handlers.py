"""The `handler-N` threads: they run method handlers and own nothing.

Requests wait in one queue of 64. Full: the sender is told and answers `busy`. A handler that must
wait long answers `LATER` and gives its thread back; a stream holds no handler.
"""

from __future__ import annotations

import logging
import queue
from threading import Thread

from efr.base.cancel import Cancelled
from efr.base.clock import Clock
from efr.threads.requests import LATER, Answer, Call, Dispatch, Later
from efr.wire import types as t
from efr.wire.errors import ErrorBody, Refusal

HANDLERS = 8  # two cores, but a handler mostly waits for a commit or a read
QUEUE_SIZE = 64  # requests that wait for a handler; more are refused as busy

CANCELLED = ErrorBody(t.ErrorCode.CANCELLED, "the request was cancelled")
INTERNAL = ErrorBody(t.ErrorCode.INTERNAL, "a fault inside efrd; its log has the details")

_log = logging.getLogger("efr.daemon")


class Handlers:
    """A fixed number of threads on one bounded queue."""

    def __init__(self, dispatch: Dispatch, clock: Clock, count: int = HANDLERS) -> None:
        self._inbox: queue.Queue[Call | None] = queue.Queue(maxsize=QUEUE_SIZE)
        self._clock = clock
        self._threads = [
            _Handler(f"handler-{n}", self._inbox, dispatch) for n in range(1, count + 1)
        ]

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def submit(self, call: Call) -> bool:
        """Queues a call; False when the queue is full. Never blocks."""
        try:
            self._inbox.put_nowait(call)
        except queue.Full:
            return False
        return True

    def stop(self, deadline: float) -> list[str]:
        """Ends the threads after what is queued; returns the names of those that miss `deadline`.

        The callers have been cancelled by then, so what is queued is skipped. May be called twice.
        """
        running = [thread for thread in self._threads if thread.is_alive()]
        for _ in running:
            try:
                self._inbox.put(None, timeout=max(0.0, deadline - self._clock.monotonic()))
            except queue.Full:
                break  # every handler is stuck: named below
        for thread in running:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        return [thread.name for thread in running if thread.is_alive()]


class _Handler(Thread):
    def __init__(self, name: str, inbox: queue.Queue[Call | None], dispatch: Dispatch) -> None:
        super().__init__(name=name)
        self._inbox = inbox
        self._dispatch = dispatch

    def run(self) -> None:
        for call in iter(self._inbox.get, None):
            if not call.cancel.cancelled:
                self._answer(call)

    def _answer(self, call: Call) -> None:
        try:
            answer: Answer | Later = self._dispatch.run(call)
        except Refusal as refusal:
            answer = refusal.body
        except Cancelled:
            answer = CANCELLED
        except Exception:  # noqa: BLE001 - a method that raises ends its own request alone
            _log.exception("the handler of %s broke", call.method.name)
            answer = INTERNAL
        if answer is not LATER:
            call.finish(answer)
