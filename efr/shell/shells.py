"""All hidden shells of the daemon, one per conversation.

Owns the table and nothing else; a shell's own story is in `hidden.py`. Any thread may call.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from efr.shell.standing import nearest_directory
from efr.shell.start import ShellDeps
from efr.shell.strays import Strays, end_started_below

if TYPE_CHECKING:  # loaded with the first shell
    from efr.shell.hidden import HiddenShell

LOOK_S = 1.0  # how late a command left running may be seen to wait for input
IDLE_LOOK_S = 60.0  # how late a shell may be closed for being idle


class Shells:
    """The shells that exist. `may_close` says whether an idle one has nobody who looks at it."""

    def __init__(
        self, deps: ShellDeps, may_close: Callable[[str], bool] = lambda _conversation: True
    ) -> None:
        self._deps = deps
        self._may_close = may_close
        self._lock = threading.Lock()
        self._shells: dict[str, HiddenShell] = {}
        self._strays = Strays(deps.clock.monotonic, deps.limits.close_kill_s)
        self._swept = False
        self._stopped = False

    def for_conversation(
        self, conversation_id: str, start_dir: str, scratch: str | None
    ) -> HiddenShell:
        """The conversation's shell. A dead one is replaced by one that starts, at its first call,
        in `start_dir`; an idle one whose trusted names are no longer true starts anew in its own
        directory. Blocks only for that."""
        from efr.shell.hidden import HiddenShell  # loaded with the first shell, as its screens are

        self._sweep()
        trusted = frozenset(self._deps.trusted())
        with self._lock:
            shell = self._shells.get(conversation_id)
            outdated = shell is not None and shell.trusted != trusted and not shell.busy
            if shell is not None and not shell.ended and not outdated:
                return shell
            if shell is not None and outdated and not shell.ended:
                start_dir = shell.cwd
            new = HiddenShell(conversation_id, start_dir, scratch, self._deps, self._strays)
            self._shells[conversation_id] = new
            stopped = self._stopped
        if stopped:
            new.hang_up()
        if shell is not None:
            shell.close()
        return new

    def peek(self, conversation_id: str) -> HiddenShell | None:
        """The conversation's shell, when it has one that did not end."""
        with self._lock:
            shell = self._shells.get(conversation_id)
        return None if shell is None or shell.ended else shell

    def start_of_next(self, conversation_id: str, start_dir: str) -> str:
        """Where the conversation's next command starts: in its shell's directory, else in
        `start_dir`, or in the nearest parent that is there. Blocks for a look at them."""
        shell = self.peek(conversation_id)
        return nearest_directory(start_dir if shell is None else shell.cwd)

    def find(self, pty_id: str) -> HiddenShell | None:
        """The shell with this terminal, when it has not ended."""
        with self._lock:
            shells = list(self._shells.values())
        return next((one for one in shells if one.pty_id == pty_id and not one.ended), None)

    @property
    def count(self) -> int:
        """How many shell processes run."""
        return len(self.sessions())

    def sessions(self) -> set[int]:
        """The session ids of the shells that run; each is its shell's pid."""
        with self._lock:
            shells = list(self._shells.values())
        return {pid for shell in shells if (pid := shell.pid) is not None}

    def tend(self) -> float | None:
        """Looks at commands left running, closes idle shells, and ends what outlived one. Does not
        block.

        Returns after how many seconds to look again; None: when a shell has started.
        """
        idle_s = self._deps.settings().idle_minutes * 60
        now = self._deps.clock.monotonic()
        with self._lock:
            shells = list(self._shells.values())
        for shell in shells:
            shell.tend()
            if shell.ended:
                continue  # it goes already: to ask once more would put its kill off
            if idle_s and shell.idle_for(now) >= idle_s and self._may_close(shell.conversation_id):
                shell.hang_up()
        if self._strays.tend() or any(shell.restless for shell in shells):
            return LOOK_S
        return IDLE_LOOK_S if any(shell.pid is not None for shell in shells) else None

    def close(self, conversation_id: str) -> None:
        """Ends the conversation's shell. Blocks until it is gone."""
        with self._lock:
            shell = self._shells.pop(conversation_id, None)
        if shell is not None:
            shell.close()

    def stop_all(self, deadline: float) -> list[str]:
        """Ends every shell by the monotonic deadline, and all that they started; returns the shells
        still there. May be called twice."""
        with self._lock:
            self._stopped = True
            shells = list(self._shells.values())
            self._shells.clear()
        for shell in shells:
            shell.hang_up()
        late: list[str] = []
        limits = self._deps.limits
        for shell in shells:
            left_s = deadline - limits.after_kill_s - self._deps.clock.monotonic()
            if not shell.kill_unless_gone(min(left_s, limits.close_kill_s)):
                late.append(f"shell of {shell.conversation_id}")
        if self._swept:
            left_s = max(0.0, deadline - self._deps.clock.monotonic())
            end_started_below(self._deps.zsh_dir, min(left_s, limits.stray_grace_s))
        return late

    def _sweep(self) -> None:
        """Once: removes what a killed daemon's shells left in the runtime root."""
        with self._lock:
            if self._swept:
                return
            self._swept = True
        shutil.rmtree(self._deps.zsh_dir, ignore_errors=True)
