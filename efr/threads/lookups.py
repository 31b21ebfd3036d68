"""The `lookup-N` threads: one name lookup each, so that nobody hangs with a dead name server.

getaddrinfo(3) cannot be cut and may take half a minute. A lookup starts a thread and waits for it,
but not longer than its caller may and not after a cancel; the thread stays until the system gives
up. Who wants the same name meanwhile waits for the same thread.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any, Final

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.base.clock import Clock

LOOKUPS: Final = 8  # names looked up at once; an efrd talks to two or three servers
_NAMES: Final = [f"lookup-{number}" for number in range(1, LOOKUPS + 1)]

Addresses = list[Any]
"""What socket.getaddrinfo returns."""


class _Lookup(Struct):
    """A lookup that runs, and how it ended."""

    thread: Thread
    over: bool = False
    addresses: Addresses | None = None
    failure: Exception | None = None


class Lookups:
    """The lookups that run. Any thread may ask."""

    def __init__(self, clock: Clock, ask: Callable[[str, int], Addresses] | None = None) -> None:
        self._clock = clock
        self._ask = ask or _getaddrinfo
        self._changed = Condition()  # "lookups"
        self._running: dict[tuple[str, int], _Lookup] = {}  # at most LOOKUPS
        self._stopped = False

    def find(self, host: str, port: int, cancel: Cancel, limit_s: float) -> Addresses:
        """The addresses of a host. Raises OSError, Cancelled; UnicodeError: it cannot be one."""
        lookup = self._join(host, port)
        forget = cancel.on_cancel(self._wake)
        try:
            with self._changed:
                self._changed.wait_for(
                    lambda: lookup.over or cancel.cancelled or self._stopped, limit_s
                )
        finally:
            forget()
        cancel.raise_if_cancelled()
        if lookup.failure is not None:  # a copy: several may raise it
            raise type(lookup.failure)(*lookup.failure.args)
        if lookup.addresses is None:
            raise TimeoutError("the name server did not answer in time")
        return lookup.addresses

    def stop(self, deadline: float) -> list[str]:
        """Tells who waits and joins; returns the names of the threads that miss `deadline`.

        May be called twice.
        """
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            threads = [one.thread for one in self._running.values()]
        threads = [thread for thread in threads if thread.ident is not None]
        for thread in threads:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        return [thread.name for thread in threads if thread.is_alive()]

    def _join(self, host: str, port: int) -> _Lookup:
        """The lookup of that name that runs already, or a new one."""
        with self._changed:
            lookup = self._running.get((host, port))
            if lookup is not None:
                return lookup
            if self._stopped or len(self._running) >= LOOKUPS:
                raise TimeoutError("too many names are looked up")
            taken = {one.thread.name for one in self._running.values()}
            name = next(name for name in _NAMES if name not in taken)
            lookup = _Lookup(Thread(target=self._run, args=(host, port), name=name))
            self._running[host, port] = lookup
        try:
            lookup.thread.start()
        except BaseException:
            self._end(host, port, failure=TimeoutError("no thread to look it up"))
            raise
        return lookup

    def _run(self, host: str, port: int) -> None:
        try:
            addresses = self._ask(host, port)
        except Exception as exc:  # noqa: BLE001 - it is the caller's answer
            self._end(host, port, failure=exc)
        else:
            self._end(host, port, addresses)

    def _end(
        self,
        host: str,
        port: int,
        addresses: Addresses | None = None,
        failure: Exception | None = None,
    ) -> None:
        with self._changed:
            lookup = self._running.pop((host, port))
            lookup.over, lookup.addresses, lookup.failure = True, addresses, failure
            self._changed.notify_all()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _getaddrinfo(host: str, port: int) -> Addresses:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
