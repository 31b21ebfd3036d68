"""Commands left running: their calls answered, and the shell takes no other until they end.

Of each it tells one time that it was left, then what it waits for, and one time how it ended, in
that order. Looks run on pty-reader, so they never wait: a screen that is behind is looked at the
next time.
"""

from __future__ import annotations

from collections.abc import Callable

from efr.base.clock import Clock
from efr.shell import terminal
from efr.shell.contract import BusyCommand, LeftEnd, LeftListener
from efr.shell.limits import Limits
from efr.shell.process import ShellProcess
from efr.shell.state import Run
from efr.shell.stopper import Stopper
from efr.shell.waits import NOTHING, decide


class _Behind(Exception):
    """The screen is not up to date: without its row a wait would be told without its prompt."""


def describe(run: Run, process: ShellProcess, limits: Limits) -> BusyCommand:
    """A running command, for those who ask what holds the shell."""
    return BusyCommand(
        call_id=run.call.call_id,
        line=run.call.line[: limits.named_chars],
        since_us=run.since_us,
        contained=run.call.nonce is not None,
        left=run.left,
        input=run.tracker.reported,
        full_screen=process.seen.alternate,
        approved_by=run.call.approved_by,
    )


class LeftCommands:
    """The commands that one shell's calls left running. `limit_s` is from the moment they were."""

    def __init__(
        self,
        conversation_id: str,
        listener: LeftListener,
        clock: Clock,
        limits: Limits,
        limit_s: Callable[[], float],
    ) -> None:
        self._conversation_id = conversation_id
        self._listener = listener
        self._clock = clock
        self._limits = limits
        self._limit_s = limit_s
        self._stopper: Stopper | None = None  # on pty-reader alone

    def tell(self, run: Run, process: ShellProcess) -> None:
        """Tells that it was left, and of its end when that came first. On its call's thread."""
        self._listener.left_behind(self._conversation_id, describe(run, process, self._limits))
        with process.changed:
            run.left_told = True
        self.tell_end(run, process)

    def tell_end(self, run: Run, process: ShellProcess) -> bool:
        """Tells how it ended, once: when it ended and the listener knows that it was left."""
        with process.changed:
            is_over = run.ended is not None or process.gone
            if not is_over or not run.left_told or run.end_told:
                return False
            run.end_told = True
        call_id = run.call.call_id
        self._listener.left_ended(self._conversation_id, call_id, run.left_end, run.status)
        return True

    def interrupt(self, run: Run, process: ShellProcess) -> None:
        """Ctrl+C on a person's word; what ignores it is ended harder by the looks that follow."""
        process.post(lambda _master: self._stop(run, process, "stopped"))

    def _stop(self, run: Run, process: ShellProcess, how: LeftEnd) -> None:
        if run.ended is None:
            run.left_end = how
            now = self._clock.monotonic()
            self._stopper = Stopper(process.post, process.pid, run, self._limits, now)

    def look(self, run: Run, process: ShellProcess, master: int) -> None:
        """One look, and the command's limit. On pty-reader."""
        now = self._clock.monotonic()
        self._keep_limit(run, process, now)
        group = terminal.foreground(master)
        state = NOTHING
        if group is not None and group != process.pid:

            def row() -> tuple[str, int]:
                view = process.glance()
                if view is None:
                    raise _Behind
                return view.row, view.column

            quiet_s = now - process.last_output
            modes = terminal.modes(master)
            try:
                state = decide(modes, quiet_s, process.seen.alternate, row, self._limits)
            except _Behind:
                return
        with process.changed:
            is_new = run.ended is None and run.tracker.look(group, process.pid, lambda: state)
        if is_new:
            command = describe(run, process, self._limits)
            self._listener.left_input_changed(self._conversation_id, command)

    def _keep_limit(self, run: Run, process: ShellProcess, now: float) -> None:
        if self._stopper is not None:
            if not self._stopper.step(now) and run.left_end == "stopped":
                run.left_end, self._stopper = "ended", None  # it could not be stopped
        elif now >= run.left_at + self._limit_s():
            self._stop(run, process, "limit")

    def over(self) -> None:
        """The command in front ended. On pty-reader."""
        self._stopper = None
