"""The thread `recording-collector`: one pass over the recordings at a time.

It waits until it is woken (at its start, by the timer once an hour, by a flood of output), reads
the table in one scan, drops rows in one job of the writer, and unlinks after the commit. Each pass
catches its own errors, logs one line and waits for the next. What goes is decided in
`efr.store.collect`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from efr.base.clock import Clock
from efr.store.collect import (
    AGE_LIMIT_US,
    SIZE_LIMIT,
    Segment,
    drop_rows,
    exited_ptys,
    plan,
    scan,
    unlink,
    unlink_unknown,
)
from efr.store.db import Connection
from efr.store.errors import StoreClosed, StoreError
from efr.threads.reply import Reply
from efr.threads.rounds import Rounds

log = logging.getLogger("efr.threads")

T = TypeVar("T")


class Readers(Protocol):
    """The store's readers."""

    def read(self, fn: Callable[[Connection], T]) -> T:
        """One read transaction; blocks."""
        ...


class Writer(Protocol):
    """The store-writer."""

    def run(self, job: Callable[[Connection], T]) -> Reply[T]:
        """One transaction."""
        ...


class Collector(Rounds):
    """`reached` is told each step's name; it is for tests that stop the process there."""

    def __init__(
        self,
        directory: Path,
        readers: Readers,
        writer: Writer,
        clock: Clock,
        age_limit_us: int = AGE_LIMIT_US,
        size_limit: int = SIZE_LIMIT,
        reached: Callable[[str], None] = lambda step: None,
    ) -> None:
        super().__init__("recording-collector", self._pass)
        self._directory = directory
        self._readers = readers
        self._writer = writer
        self._clock = clock
        self._age_limit_us = age_limit_us
        self._size_limit = size_limit
        self._reached = reached

    def _pass(self) -> None:
        """One pass; it logs what keeps it from its end."""
        try:
            self.collect()
        except StoreClosed:
            log.debug("no pass over the recordings: the store is closed")
        except (StoreError, OSError) as exc:
            log.warning("the recordings were not looked through: %s", exc)
        except Exception:
            log.exception("a pass over the recordings broke; it is tried again")

    def collect(self) -> None:
        """One pass. Blocks on the store and on the disk; the thread's own work."""
        segments, exited = self._readers.read(_look)
        now_us = self._clock.now_us()
        decided = plan(segments, now_us, self._age_limit_us, self._size_limit)
        if decided.gone:
            self._writer.run(lambda conn: drop_rows(conn, decided)).result()
            self._reached("rows dropped")
            freed = unlink(self._directory, decided.gone)
            count = len(decided.gone)
            log.info("removed %d segments of recordings, %d bytes", count, freed)
            self._reached("files unlinked")
        gone = set(decided.gone)
        known = [one for one in segments if one not in gone]
        unlink_unknown(self._directory, known, exited, now_us - self._age_limit_us)
        self._reached("passed")


def _look(conn: Connection) -> tuple[list[Segment], set[str]]:
    return scan(conn), exited_ptys(conn)
