"""The answer of one thread to another: a Future that costs little to make and to wait for.

A `concurrent.futures.Future` makes a condition, a lock and three lists for each answer, and each
wait one more lock; with eight callers that halves what the writer can do. This one has a single
lock, held until the answer is there. It has the methods of a Future and its type, and cannot be
cancelled: a caller that went away does not undo its request. It is not for
`concurrent.futures.wait`, which looks inside.

Relies on the interpreter lock: appending to a list and popping from it are one step each.
"""

from __future__ import annotations

import logging
from _thread import allocate_lock
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

log = logging.getLogger("efr.threads")

T = TypeVar("T")


class Reply(Future[T], Generic[T]):
    """Set once by the thread that does the work; any thread may wait."""

    def __init__(self) -> None:
        self._gate = allocate_lock()
        self._gate.acquire()
        self._is_done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._fns: list[Callable[[Future[T]], object]] = []

    def __repr__(self) -> str:
        return f"<Reply, {'done' if self._is_done else 'waiting'}>"

    def done(self) -> bool:
        """Whether the answer is there."""
        return self._is_done

    def result(self, timeout: float | None = None) -> T:
        """The answer; blocks for it. Raises the exception that it is, or TimeoutError."""
        self._wait(timeout)
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # set, and None may be a T

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """The exception that the answer is, or None; blocks for it. Raises TimeoutError."""
        self._wait(timeout)
        return self._error

    def _wait(self, timeout: float | None) -> None:
        if self._is_done:
            return
        if not self._gate.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
            raise TimeoutError
        self._gate.release()  # for the next one who waits

    def set_result(self, result: T) -> None:
        """The answer. The working thread alone calls it, once."""
        self._value = result
        self._settle()

    def set_exception(self, exception: BaseException | None) -> None:
        """The failure that is the answer. The working thread alone calls it, once."""
        self._error = exception
        self._settle()

    def _settle(self) -> None:
        self._is_done = True
        self._gate.release()
        if self._fns:
            self._call_back()

    def add_done_callback(self, fn: Callable[[Future[T]], Any]) -> None:
        """Calls `fn` with this reply when the answer is there: on the thread that settles it, or
        here when it is there already. `fn` must not block."""
        self._fns.append(fn)
        if self._is_done:
            self._call_back()

    def _call_back(self) -> None:
        while self._fns:
            try:
                fn = self._fns.pop(0)
            except IndexError:  # the other side took the last one
                return
            try:
                fn(self)
            except Exception:
                log.exception("a callback of a reply failed")

    def cancel(self) -> bool:
        """Never: what was asked for is done."""
        return False

    def cancelled(self) -> bool:
        """Never."""
        return False

    def running(self) -> bool:
        """Until it is done."""
        return not self._is_done

    def set_running_or_notify_cancel(self) -> bool:
        """It is not cancelled."""
        return True
