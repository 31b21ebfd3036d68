"""A screen that is fed when somebody looks, and jumps over plain output to its last screenful.

The result equals the screen that saw every byte (a property test says so). Why a jump is exact:
output that never moves the cursor up, sets a mode or starts a string ("downhill", see
`scanner.py`) scrolls the whole screen away once two screenfuls of newlines came. So it is enough to
go on at a line start with that many newlines after it, in the colours that the skipped part left.
Of the rows above the screen the newest are kept, as text; a jump leaves 200 of them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Final

from efr.shell.contract import Size
from efr.shell.feeder import Feeder
from efr.shell.scanner import NOTEWORTHY, PlainRun
from efr.shell.screen import TerminalScreen

Read = Callable[[int, int], bytes]

_COLOUR: Final = re.compile(rb"\x1b\[[0-9;:]*m")
_RESET: Final = re.compile(rb"\x1b\[0*m")
_BLOCK: Final = 1 << 20  # bytes read at once while catching up
_WINDOW: Final = 64 << 10  # bytes read at once from behind: some screenfuls; 1/8 is worth a jump
_SLICE: Final = 16 << 10  # bytes fed between two looks at `stop`
_SCROLLBACK: Final = 200  # rows above the screen that a jump reads: what a snapshot usually has
_LONGEST_COLOUR: Final = 256  # bytes of one colour sequence


class LazyScreen:
    """A screen and how far it has been fed. One thread at a time, but for `resize`."""

    def __init__(
        self,
        columns: int,
        rows: int,
        start: int = 0,
        window: int = _WINDOW,
        scrollback: int = 0,
    ) -> None:
        self.screen = TerminalScreen(columns, rows, scrollback)
        self.position = start
        self._feeder = Feeder(self.screen)
        self._scrollback = min(scrollback, _SCROLLBACK)
        self._newlines = 2 * rows + self._scrollback
        self._sizes: deque[tuple[int, Size]] = deque()  # not reached yet, in order
        self._window = window
        self._worth_it = window // 8

    def catch_up(
        self,
        read: Read,
        end: int,
        runs: Iterable[PlainRun],
        stop: Callable[[], bool] | None = None,
    ) -> bool:
        """Feeds up to offset `end`. `runs` are the scanner's long plain runs, in order; those that
        end after `end` do no harm. False when `stop` said to go on later."""
        runs = tuple(runs)
        while self._sizes and self._sizes[0][0] <= end:
            offset, size = self._sizes[0]
            if not self._catch_up(read, offset, runs, stop):
                return False
            self._sizes.popleft()
            self.screen.resize(size.rows, size.columns)
            self._newlines = 2 * size.rows + self._scrollback
        return self._catch_up(read, end, runs, stop)

    def resize(self, offset: int, size: Size) -> None:
        """Has the screen this size from the byte at `offset` on. Any thread, before `end` of a
        `catch_up` lies behind it."""
        self._sizes.append((offset, size))

    def _catch_up(
        self,
        read: Read,
        end: int,
        runs: Iterable[PlainRun],
        stop: Callable[[], bool] | None,
    ) -> bool:
        for run in runs:
            run_end = min(run.end, end)
            if run_end - max(run.start, self.position) > self._window:
                if not self._feed_to(read, run.start, stop):
                    return False
                self._jump_from_behind(read, run_end, run.last_escape)
        return self._feed_to(read, end, stop)

    def _feed_to(self, read: Read, end: int, stop: Callable[[], bool] | None) -> bool:
        step = _BLOCK if stop is None else _SLICE
        while self.position < end:
            if stop is not None and stop():
                return False
            data = read(self.position, min(self.position + step, end))
            if data:
                self.feed(data)
            else:  # the recording no longer has them: the screen goes on without
                self.position = end
        return True

    def feed(self, data: bytes) -> None:
        """The next bytes, jumping over what scrolls away within them."""
        fed = 0
        for start, end in pairwise(_runs(data) if len(data) > self._worth_it else ()):
            line = data.find(b"\n", start, end) + 1 if end - start > self._worth_it else 0
            cut = _line_start(data, line, end, self._newlines) if line else 0
            if cut <= line:
                continue
            self._feeder.feed(data[fed:line])
            fed = line
            if self._can_jump():
                self._jump(_COLOUR.findall(data, line, cut))
                fed = cut
        self._feeder.feed(data[fed:])
        self.position += len(data)

    def _can_jump(self) -> bool:
        return self._feeder.at_ground and self.screen.margins is None

    def _jump_from_behind(self, read: Read, end: int, last_escape: int) -> None:
        """Skips to the last screenfuls before `end`; all from here to there is downhill."""
        size = self._window
        while size < end - self.position and self._can_jump():
            data = read(end - size, end)
            cut = _line_start(data, 0, size, self._newlines) if len(data) == size else -1
            if cut > 0:
                target = end - size + cut
                self._jump(self._colours(read, min(target, last_escape + _LONGEST_COLOUR)))
                self.position = target
                return
            size *= 4

    def _colours(self, read: Read, end: int) -> list[bytes]:
        """The colour sequences from here to `end`; those before the last reset may be left out."""
        found: list[bytes] = []
        while end > self.position:
            start = max(end - self._window, self.position)
            block = _COLOUR.findall(read(start, end))
            found = block + found
            if start == self.position or any(map(_RESET.fullmatch, block)):
                break
            end = start + _LONGEST_COLOUR  # what lies across the border is seen twice
        return found

    def _jump(self, colours: list[bytes]) -> None:
        """Goes to the start of the last row, in the colours that the skipped sequences leave.

        A colour sequence assigns constants: of equal ones only the last counts, and nothing before
        a reset does.
        """
        last: dict[bytes, None] = {}
        for sequence in reversed(colours):
            last.setdefault(sequence)
            if _RESET.fullmatch(sequence):
                break
        self._feeder.feed(b"".join(reversed(last)))
        self.screen.cursor.x = 0
        self.screen.cursor.y = self.screen.lines - 1
        self.screen.scrolled.clear()  # they no longer stand right above
        self.screen.unkept = self.screen.lines


def _runs(data: bytes) -> list[int]:
    """The borders of the runs: each starts at a noteworthy sequence, but the first."""
    return [0, *(found.start() for found in NOTEWORTHY.finditer(data)), len(data)]


def _line_start(data: bytes, start: int, end: int, newlines: int) -> int:
    """The last place after CR LF with at least `newlines` newlines between it and `end`; -1 when
    there is none."""
    at = end
    for _ in range(newlines + 1):
        at = data.rfind(b"\n", start, at)
        if at < 0:
            return -1
    while at > start and data[at - 1] != 0x0D:
        at = data.rfind(b"\n", start, at)
    return at + 1 if at > start else -1
