"""One shell's screen, and whose turn it is to feed it.

The screen is fed from the recording when somebody looks: a call's thread, or pty-reader for a
cursor report. A flag says who feeds; nobody holds a lock meanwhile. pty-reader feeds in slices of a
few milliseconds and never waits. A program's cursor report is answered by whoever feeds past it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from msgspec import Struct

from efr.base.clock import Clock
from efr.shell.contract import Size
from efr.shell.lazy import LazyScreen, Read
from efr.shell.queries import answer
from efr.shell.scanner import PlainRun, Query
from efr.shell.snapshot import snapshot
from efr.wire import types as t

_SLICE_S: Final = 0.004  # of feeding on pty-reader, before the other PTYs get their turn
_MOST_REPORTS: Final = 64  # unanswered at once; a program that asks more does not read


class Seen(NamedTuple):
    """What the scanner saw of the stream up to `size`."""

    size: int = 0
    runs: tuple[PlainRun, ...] = ()
    open_run: PlainRun = PlainRun(0, 0, -1)
    alternate: bool = False
    modes: Collection[int] = ()  # DEC modes that are set


class View(Struct, frozen=True):
    """The screen at one moment. `rows` end with the cursor's; `column` is the cursor's in it."""

    rows: tuple[str, ...]
    column: int

    @property
    def row(self) -> str:
        """The row with the cursor."""
        return self.rows[-1]


class Viewer:
    """Feeds and reads the screen. `look` blocks, and is not for pty-reader; `step` is for it."""

    def __init__(
        self,
        screen: LazyScreen,
        read: Read,
        seen: Callable[[], Seen],
        send: Callable[[bytes], None],
        nudge: Callable[[], None],
        clock: Clock,
    ) -> None:
        self._screen = screen
        self._read = read
        self._seen = seen
        self._send = send
        self._nudge = nudge  # has pty-reader call `step`
        self._clock = clock
        self._turn = threading.Condition()
        self._feeding = False
        self._reports: deque[Query] = deque()
        self._wanted = False  # a glance found the screen behind

    def report(self, query: Query) -> None:
        """A program asked where the cursor is; the answer comes with a step or a look."""
        with self._turn:
            if len(self._reports) < _MOST_REPORTS:
                self._reports.append(query)

    def glance(self) -> View | None:
        """The cursor's row, if the screen is up to date; else it will be soon. For pty-reader."""
        with self._turn:
            if self._feeding or self._screen.position < self._seen().size:
                self._wanted = True
                return None
            self._feeding = True
        try:
            return self._view(1)
        finally:
            self._stop_feeding()

    def look(self, rows: int, stop: Callable[[], bool] | None = None) -> View:
        """The last `rows` rows up to the cursor, after everything that came so far, or as far as
        it got when `stop` said so."""
        with self._up_to_date(stop):
            return self._view(rows)

    def snapshot(self, scrollback_rows: int) -> tuple[int, t.ScreenSnapshot]:
        """The screen after everything that came so far, and the offset behind that."""
        with self._up_to_date(None) as screen:
            return screen.position, snapshot(screen.screen, scrollback_rows, self._seen().modes)

    def resize(self, offset: int, size: Size) -> None:
        """The screen has this size from the byte at `offset` on. On pty-reader."""
        self._screen.resize(offset, size)

    @contextmanager
    def _up_to_date(self, stop: Callable[[], bool] | None) -> Iterator[LazyScreen]:
        """The screen to read, fed as far as `stop` lets it; nobody else has it meanwhile."""
        with self._turn:
            self._turn.wait_for(lambda: not self._feeding)
            self._feeding = True
        try:
            self._answer(stop)
            self._catch_up(self._seen().size, stop)
            yield self._screen
        finally:
            if self._stop_feeding():
                self._nudge()

    def _view(self, rows: int) -> View:
        screen = self._screen.screen
        texts = screen.texts(max(0, screen.cursor.y - rows + 1), screen.cursor.y)
        return View(tuple(texts), screen.cursor.x)

    def step(self) -> bool:
        """Feeds a little, for a cursor report or a glance. Says whether to come again."""
        with self._turn:
            if self._feeding:
                return False  # who feeds sees the report when it stops
            self._feeding = True
        deadline = self._clock.monotonic() + _SLICE_S
        try:
            self._answer(lambda: self._clock.monotonic() >= deadline)
            if self._wanted:
                size = self._seen().size
                self._wanted = not self._catch_up(size, lambda: self._clock.monotonic() >= deadline)
        finally:
            more = self._stop_feeding()
        return more

    def _stop_feeding(self) -> bool:
        """Lets others feed; says whether pty-reader has something to feed for."""
        with self._turn:
            self._feeding = False
            self._turn.notify_all()
            return bool(self._reports) or self._wanted

    def _answer(self, stop: Callable[[], bool] | None) -> None:
        """Answers the cursor reports in order, until there is none or `stop` says so."""
        while True:
            with self._turn:
                if not self._reports:
                    return
                query = self._reports[0]
            if not self._catch_up(query.end, stop):
                return
            with self._turn:
                self._reports.popleft()
            self._send(answer(query, (), self._screen.screen.reported_cursor))

    def _catch_up(self, end: int, stop: Callable[[], bool] | None) -> bool:
        seen = self._seen()
        return self._screen.catch_up(self._read, end, (*seen.runs, seen.open_run), stop)
