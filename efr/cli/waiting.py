"""A row on stderr that says what a command waits for; on a terminal it goes when the wait ends."""

from __future__ import annotations

import sys
from types import TracebackType

from efr.base.clock import Clock
from efr.base.ctrl_c import Raising
from efr.cli.printing import columns_of
from efr.cli.render.status import spinner
from efr.cli.render.times import clock_text
from efr.cli.render.width import cut
from efr.cli.run import is_terminal

_USUAL = 80  # columns
ERASE_ROW = "\r\x1b[K"  # ECMA-48 EL: from the cursor to the end of the row


class Waiting:
    """One wait. `text`, cut to a row, shows when `show` is called: a short wait is silent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._told = False
        self._ctrl_c = Raising()

    def show(self) -> None:
        """Says what is waited for, the first time."""
        if self._told:
            return
        self._told = True
        sys.stdout.flush()
        if is_terminal(2):
            text = cut(self._text, (columns_of(2) or _USUAL) - 1)  # a second row would stay
            print(text, end="", file=sys.stderr, flush=True)
        else:
            print(self._text, file=sys.stderr)

    def __enter__(self) -> Waiting:
        self._ctrl_c.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._told and is_terminal(2):
            print(ERASE_ROW, end="", file=sys.stderr, flush=True)
        self._ctrl_c.__exit__(kind, exc, tb)


class Working(Waiting):
    """A wait for work that may take a minute: on a terminal a row that moves, else nothing."""

    def __init__(self, text: str, clock: Clock) -> None:
        super().__init__(text)
        self._clock = clock
        self._since = clock.monotonic()
        self._ticks = 0

    def show(self) -> None:
        """The row as it is now; called again and again."""
        if not is_terminal(2):
            return
        self._told = True
        took = clock_text(self._clock.monotonic() - self._since)
        text = cut(f"{spinner(self._ticks)} {self._text}  {took}", (columns_of(2) or _USUAL) - 1)
        self._ticks += 1
        print(ERASE_ROW + text, end="", file=sys.stderr, flush=True)
