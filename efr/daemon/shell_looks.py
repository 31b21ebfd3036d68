"""When to look at the hidden shells: only while there is something to see.

A command left running is looked at once a second, an idle shell once a minute, and without a
shell nothing wakes up. The shells themselves say when to look again; that something began is
heard here, on its way to the log. Looks run on the `timer` thread.
"""

from __future__ import annotations

import logging
import threading
from typing import Protocol

from efr.agent.ports import TimerEntry, Timers
from efr.base.clock import Clock
from efr.shell.contract import BusyCommand, LeftEnd, LeftListener, ShellListener
from efr.shell.shells import IDLE_LOOK_S, LOOK_S

_log = logging.getLogger("efr.daemon")


class _Shells(Protocol):
    def tend(self) -> float | None:
        """Looks; returns after how many seconds to look again, None: not until a shell starts."""


class _Listener(ShellListener, LeftListener, Protocol):
    """Who records what the shells report."""


class ShellLooks:
    """Passes the shells' reports on and sets the time of the next look. Any thread."""

    def __init__(self, passed_to: _Listener, timer: Timers, clock: Clock) -> None:
        self._passed_to = passed_to
        self._timer = timer
        self._clock = clock
        self._lock = threading.Lock()  # "shell looks"
        self._next: tuple[float, TimerEntry] | None = None  # when it is due, and the entry
        self._shells: _Shells | None = None  # they come after their listener
        self._stopped = False

    def begin(self, shells: _Shells) -> None:
        """Says whose shells they are, before the first one starts."""
        self._shells = shells

    def stop(self, deadline: float) -> None:
        """No more look begins. May be called twice."""
        with self._lock:
            self._stopped = True
            if self._next is not None:
                self._next[1].cancel()

    def look_soon(self) -> None:
        """Somebody stops a command or closes a shell: what comes of it is looked at."""
        self._look_within(LOOK_S)

    def started(self, conversation_id: str, pty_id: str, cwd: str, pid: int) -> None:
        """A shell runs, and will be idle one day."""
        self._passed_to.started(conversation_id, pty_id, cwd, pid)
        self._look_within(IDLE_LOOK_S)

    def exited(self, conversation_id: str, pty_id: str, exit_code: int | None) -> None:
        """A shell is gone; the next looks find out whether it was the last one, and end what it
        left."""
        self._passed_to.exited(conversation_id, pty_id, exit_code)
        self._look_within(LOOK_S)

    def cwd_changed(self, conversation_id: str, pty_id: str, cwd: str) -> None:
        """A shell stands elsewhere."""
        self._passed_to.cwd_changed(conversation_id, pty_id, cwd)

    def left_behind(self, conversation_id: str, command: BusyCommand) -> None:
        """A command runs on and nobody waits for it: its questions are seen by looks."""
        self._passed_to.left_behind(conversation_id, command)
        self._look_within(LOOK_S)

    def left_input_changed(self, conversation_id: str, command: BusyCommand) -> None:
        """What a command left running waits for changed."""
        self._passed_to.left_input_changed(conversation_id, command)

    def left_ended(
        self, conversation_id: str, call_id: str, how: LeftEnd, exit_code: int | None
    ) -> None:
        """A command left running ended."""
        self._passed_to.left_ended(conversation_id, call_id, how, exit_code)

    def _look_within(self, seconds: float) -> None:
        due = self._clock.monotonic() + seconds
        with self._lock:
            if self._stopped or (self._next is not None and self._next[0] <= due):
                return
            if self._next is not None:
                self._next[1].cancel()
            self._next = due, self._timer.at(due, self._look)

    def _look(self) -> None:
        with self._lock:
            self._next = None
        assert self._shells is not None
        try:
            again_s = self._shells.tend()
        except Exception:  # noqa: BLE001 - the next look may work
            _log.exception("looking after the shells failed; it is tried again")
            again_s = IDLE_LOOK_S
        if again_s is not None:
            self._look_within(again_s)
