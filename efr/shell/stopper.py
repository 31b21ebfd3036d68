"""Stops a running command: as Ctrl+C first, then harder, never the shell itself.

Driven by the thread that follows the command, or by a look at one left running: `step` does what
is due. A command that waits for hidden input is stopped only while its group holds the terminal.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable

from efr.shell import terminal
from efr.shell.errors import PtyClosed
from efr.shell.limits import Limits

Post = Callable[[Callable[[int], None]], None]


class Stopper:
    """Presses Ctrl+C at once. `due` is when `step` wants to be called next."""

    def __init__(
        self, post: Post, shell: int, limits: Limits, now: float, group: int | None = None
    ) -> None:
        self._post = post
        self._shell = shell
        self._group = group  # only this one; None: whoever is in front
        self._steps = [
            (now + limits.term_after_s, signal.SIGTERM),
            (now + limits.kill_after_s, signal.SIGKILL),
        ]
        self._give_up = now + limits.give_up_after_s
        self._send(signal.SIGINT)

    @property
    def due(self) -> float:
        """Monotonic time of the next step."""
        return self._steps[0][0] if self._steps else self._give_up

    def step(self, now: float) -> bool:
        """Does what is due. False: nothing more can be done."""
        while self._steps and now >= self._steps[0][0]:
            self._send(self._steps.pop(0)[1])
        return now < self._give_up

    def _send(self, number: signal.Signals) -> None:
        def job(master: int) -> None:
            if self._group is not None and terminal.foreground(master) != self._group:
                return
            if number == signal.SIGINT:
                terminal.press_interrupt(master)
            else:
                terminal.signal_program(master, number, self._shell)

        with contextlib.suppress(PtyClosed):
            self._post(job)
