"""Stops a running command: as Ctrl+C first, then harder, never the shell itself.

Driven by the thread that follows the command, or by a look at one left running: `step` does what
is due. A command that waits for hidden input is stopped only while its group holds the terminal.
"""

from __future__ import annotations

import signal
from collections.abc import Callable

from efr.shell import terminal
from efr.shell.limits import Limits
from efr.shell.state import Run

Post = Callable[[Callable[[int], None]], None]


class Stopper:
    """Presses Ctrl+C at once. `due` is when `step` wants to be called next.

    Each group that comes to the front gets one Ctrl+C: the first may have found the shell between
    two programs. A second for the same program would mean "give up at once" to many.
    """

    def __init__(
        self,
        post: Post,
        shell: int,
        run: Run,
        limits: Limits,
        now: float,
        group: int | None = None,
    ) -> None:
        self._post = post
        self._run = run
        self._shell = shell
        self._only = group  # None: whoever is in front
        self._pressed: set[int | None] = set()  # groups; on pty-reader alone
        again = [now + limits.term_after_s * part for part in (0.1, 0.3, 0.6)]
        self._steps = [
            *((at, signal.SIGINT) for at in again),
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
        self._post(lambda master: self._send_to_front(master, number))

    def _send_to_front(self, master: int, number: signal.Signals) -> None:
        if self._run.ended is not None:  # a signal now would meet the shell's prompt
            return
        group = terminal.foreground(master)
        if self._only is not None and group != self._only:
            return
        if number != signal.SIGINT:
            terminal.signal_program(master, number, self._shell)
        elif group not in self._pressed:
            self._pressed.add(group)
            terminal.press_interrupt(master)
