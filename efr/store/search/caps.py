"""How long a search may take, and how its statement is cut when the time is up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import apsw

from efr.base.clock import Clock
from efr.store.db import Connection

ROW_CAP: Final = 2000  # documents scored: a word that is everywhere has no better rows further down
TITLE_CAP: Final = 500  # titles scored: more share a word that says little
TIME_CAP_S: Final = 0.15  # somebody is typing; a later answer would meet another query

# Steps of SQLite's machine between two looks at the clock: about 500 rows. Looking costs a change
# of the interpreter's lock.
_LOOK_EVERY: Final = 10_000


class Cap:
    """The time of one search. `partial` says what stopped it early: None, row_cap, time_cap."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._ends = clock.monotonic() + TIME_CAP_S
        self.partial: str | None = None

    def over(self) -> bool:
        """Whether the time is up."""
        return self.clock.monotonic() >= self._ends

    @contextmanager
    def on(self, conn: Connection) -> Iterator[None]:
        """Cuts statements that run on when the time is up: they end with what they gave so far,
        and `partial` says so. A cancel by somebody else passes through."""
        conn.set_progress_handler(self.over, _LOOK_EVERY, id="cap")
        try:
            yield
        except apsw.InterruptError:
            if not self.over():
                raise
            self.partial = "time_cap"
        finally:
            conn.set_progress_handler(None, id="cap")
