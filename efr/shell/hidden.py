"""One conversation's hidden shell: starting it, running calls in it, answering what it asks.

A `HiddenShell` is one process's life; when that ended, `Shells` makes a new one. Calls block on the
thread that runs them. Only one call runs and one waits. All state is under one condition, shared
with the process; what is slow happens outside of it.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import threading
from typing import Final

from efr.base.cancel import Cancel
from efr.shell import notes, terminal
from efr.shell.answers import check_text, type_answer
from efr.shell.contract import BusyCommand, CallEnd, CallWatcher, InputWait, ShellCall
from efr.shell.errors import (
    CannotMove,
    CommandRuns,
    NoSuchCall,
    NotWaiting,
    PtyClosed,
    ShellError,
)
from efr.shell.follow import Follower
from efr.shell.integration import ShellDirectory
from efr.shell.left import LeftCommands, describe
from efr.shell.process import ShellProcess
from efr.shell.standing import directory_in_front, is_there
from efr.shell.start import ShellDeps, start
from efr.shell.state import Phase, Run
from efr.shell.strays import Strays
from efr.shell.typed import Sentinel, refusal, typed_line
from efr.shell.waits import InputTracker
from efr.shell.words import starts_shell

__all__ = ["HiddenShell", "ShellDeps"]

_MOST_CALLS: Final = 2  # one runs, one waits


class _Ticket:
    """One call's place in the row."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id


class HiddenShell:
    """Any thread may call. `run` and `move_to` block; so does `close`."""

    def __init__(
        self,
        conversation_id: str,
        start_dir: str,
        scratch: str | None,
        deps: ShellDeps,
        strays: Strays,
    ) -> None:
        self.conversation_id = conversation_id
        self.pty_id = deps.ids.new()
        self.trusted = frozenset(deps.trusted())
        self._deps = deps
        self._strays = strays
        self._limits = deps.limits
        self._clock = deps.clock
        self._start_dir = start_dir
        self._scratch = scratch
        self._files = ShellDirectory(deps.zsh_dir / self.pty_id)
        self._changed = threading.Condition()
        self._process: ShellProcess | None = None
        self._starting = False
        self._start_deadline = 0.0
        self._calls: list[_Ticket] = []  # the first runs, the second waits
        self._told_cwd = start_dir
        self._settings_forgotten = False
        self._is_zsh = True
        self._ended = False
        self._closing = False
        self._kill_at = 0.0  # monotonic, when closing
        self._left = LeftCommands(
            conversation_id, deps.left, deps.clock, deps.limits, self._interactive_s
        )
        self._idle_since = deps.clock.monotonic()

    # What it is doing.

    @property
    def cwd(self) -> str:
        """The directory it stands in; before it started, the one it will start in."""
        with self._changed:
            return self._told_cwd

    @property
    def pid(self) -> int | None:
        """Its process, which is also its session; None before it starts and after it ended."""
        with self._changed:
            return None if self._process is None or self._ended else self._process.pid

    @property
    def ended(self) -> bool:
        """Whether its process is gone, or about to go: it takes no more calls."""
        with self._changed:
            return self._ended or self._closing

    @property
    def search_path(self) -> str | None:
        """Its PATH as of its last prompt; None when unknown."""
        return self._files.search_path

    @property
    def busy(self) -> bool:
        """Whether a command runs in it, also one that its call left running."""
        with self._changed:
            return bool(self._calls) or self._left_run is not None

    @property
    def restless(self) -> bool:
        """Whether it must be looked at again soon: a command was left running, or it goes."""
        with self._changed:
            return self._left_run is not None or (self._closing and not self._ended)

    @property
    def command(self) -> BusyCommand | None:
        """The command that holds it, for `shell.status`."""
        with self._changed:
            runs, process = self._open_runs, self._process
            return describe(runs[0], process, self._limits) if runs and process else None

    @property
    def terminal(self) -> ShellProcess | None:
        """Its terminal, for those who look at it from outside; None when it does not run."""
        with self._changed:
            return None if self._ended else self._process

    @property
    def _open_runs(self) -> list[Run]:
        """The runs that are typed and have not ended, the one in front first. Under the lock."""
        if self._process is None or self._ended:
            return []
        return self._process.state.open_runs

    @property
    def _left_run(self) -> Run | None:
        return next((run for run in self._open_runs if run.left), None)

    def screen_rows(self, count: int) -> tuple[str, ...]:
        """The last `count` rows of its screen, up to the cursor's. Blocks while it catches up."""
        with self._changed:
            process = self._process
        return process.view(count).rows if process is not None else ()

    # Calls.

    def run(self, call: ShellCall, cancel: Cancel, watcher: CallWatcher) -> CallEnd:
        """Runs one line and returns how it ended. Blocks; never raises for what the shell does."""
        why = refusal(call.line, self._limits.line_bytes)
        if why is not None:
            return CallEnd("not_run", note=why)
        ticket = _Ticket(call.call_id)
        with self._changed:
            if len(self._calls) >= _MOST_CALLS:
                return CallEnd("busy", note=notes.ANOTHER_WAITS)
            self._calls.append(ticket)
        forget = cancel.on_cancel(self._wake)
        try:
            return self._run(ticket, call, cancel, watcher)
        finally:
            forget()
            with self._changed:
                self._calls.remove(ticket)
                self._idle_since = self._clock.monotonic()
                self._changed.notify_all()

    def _run(
        self, ticket: _Ticket, call: ShellCall, cancel: Cancel, watcher: CallWatcher
    ) -> CallEnd:
        run = self._get_turn(ticket, call, cancel)
        if isinstance(run, CallEnd):
            if run.kind == "elsewhere":
                self._tell_directory(run.cwd)
            return run
        process = self._process
        assert process is not None  # there is a turn only with a process
        self._forget_settings()
        with contextlib.suppress(PtyClosed, TimeoutError):  # then the wait for its end says so
            process.resize_back()
        keys = run.sentinel.keys if run.sentinel is not None else typed_line(call.line)
        process.type(keys)
        end = Follower(process, run, cancel, watcher, self._interactive_s()).follow()
        if end.left_running:
            self._left.tell(run, process)
        if end.kind == "failed":
            self.close()
        self._tell_directory(end.cwd)
        return end

    def _interactive_s(self) -> float:
        return self._deps.settings().interactive_timeout_minutes * 60

    def _get_turn(self, ticket: _Ticket, call: ShellCall, cancel: Cancel) -> Run | CallEnd:
        """Blocks until the line can be typed; a CallEnd when it will not be."""
        limit_s = min(call.timeout_s, self._limits.longest_s)
        limit: float | None = None  # starts when the shell has started
        while True:
            with self._changed:
                if self._must_start(ticket):
                    self._starting = True
                    self._start_deadline = self._clock.monotonic() + self._limits.start_s
                else:
                    now = self._clock.monotonic()
                    is_starting = self._is_starting(now)
                    if (result := self._try_turn(ticket, call, cancel)) is not None:
                        return result
                    if not is_starting:
                        limit = now + limit_s if limit is None else limit
                        if now >= limit:
                            return self._too_busy(limit_s)
                    self._changed.wait((limit or self._start_deadline) - now)
                    continue
            try:
                self._start()
            except (ShellError, OSError) as exc:
                self._did_not_start()
                return CallEnd("failed", note=notes.did_not_start(str(exc)))

    def _must_start(self, ticket: _Ticket) -> bool:
        idle = self._process is None and not self._starting and not self._ended
        return idle and self._calls[0] is ticket

    def _is_starting(self, now: float) -> bool:
        """Whether the start-up still has time; when not, the shell counts as unmarked."""
        if self._process is None:
            return now < self._start_deadline
        state = self._process.state
        if state.phase is Phase.STARTING and now >= self._start_deadline:
            state.phase = Phase.UNMARKED
        return state.phase is Phase.STARTING

    def _try_turn(self, ticket: _Ticket, call: ShellCall, cancel: Cancel) -> Run | CallEnd | None:
        """The run when the line is to be typed now. Under the lock."""
        if cancel.cancelled:
            return CallEnd("interrupted", cwd=self._told_cwd, note=notes.INTERRUPTED_BEFORE)
        if self._ended or self._closing:
            return self._is_gone()
        if self._process is None or self._calls[0] is not ticket:
            return None
        if self.trusted != frozenset(self._deps.trusted()):
            return CallEnd("busy", note=notes.TRUSTED_CHANGED)
        state = self._process.state
        by_sentinel = self._types_by_sentinel(call)
        if by_sentinel is None:
            return None
        stands = directory_in_front(self._process.pid)  # the kernel answers from memory
        if None not in (call.directory, stands) and call.directory != stands:
            return CallEnd("elsewhere", cwd=stands if stands and is_there(stands) else None)
        types_into_shell = call.nested or starts_shell(call.line)
        run = Run(
            call,
            self._process.seen.size,
            self._clock.now_us(),
            InputTracker(hidden_only=types_into_shell),
            types_into_shell,
            forgets=self._deps.settings().forget_sudo,
        )
        if by_sentinel:
            run.sentinel = Sentinel(call.line, self._deps.nonce()[:16])
        state.typed(run)
        return run

    def _is_gone(self) -> CallEnd:
        """The end of a call whose shell ended before the line was typed. Under the lock."""
        process = self._process
        if process is None or self._closing or process.state.phase is not Phase.STARTING:
            return CallEnd("shell_exited", note=notes.SHELL_GONE)
        return CallEnd("failed", note=notes.ended_at_start(process.exit_code))

    def _types_by_sentinel(self, call: ShellCall) -> bool | None:
        """Whether the line is typed between sentinels; None: not yet."""
        assert self._process is not None
        state = self._process.state
        if state.phase is Phase.READY:
            return False
        other = state.sentinel_run
        if other is not None and other.ended is None:
            return None
        if state.phase is Phase.UNMARKED or (call.nested and self._left_run is not None):
            return True
        return None

    def _too_busy(self, limit_s: float) -> CallEnd:
        runs = self._open_runs
        line = runs[0].call.line[: self._limits.named_chars] if runs else ""
        return CallEnd("busy", cwd=self._told_cwd, note=notes.busy(line, limit_s))

    def _tell_directory(self, cwd: str | None) -> None:
        with self._changed:
            changed = cwd is not None and cwd != self._told_cwd
            if cwd is not None:
                self._told_cwd = cwd
        if changed and cwd is not None:
            self._deps.listener.cwd_changed(self.conversation_id, self.pty_id, cwd)

    def move_to(self, directory: str) -> None:
        """Stands in `directory` afterwards; a shell that has not started will start there. Raises
        CannotMove when a command runs, or `cd` fails."""
        with self._changed:
            if self._process is None and not self._starting:
                self._start_dir = self._told_cwd = directory
                return
            if self._calls or self._left_run is not None:
                raise CannotMove(directory, "a command still runs in the shell")
        change = "builtin cd -q --" if self._is_zsh else "cd --"
        line = f"{change} {shlex.quote(directory)}"
        call = ShellCall("", line, timeout_s=self._limits.move_s)
        end = self.run(call, Cancel(), _Nobody())
        if end.kind != "exited" or end.exit_code != 0:
            raise CannotMove(directory, end.output.strip() or end.note or end.kind)

    # Starting and ending.

    def _start(self) -> None:
        deps = self._deps
        recorder = deps.recorder(self.pty_id)
        try:
            started = start(deps, self._files, self._start_dir, self._scratch, self.trusted)
            recorder.resize(self._limits.columns, self._limits.rows)
            process = ShellProcess(
                started, recorder, self._changed, self._clock, self._limits, self
            )
            process.attach(deps.reader)
        except BaseException:
            recorder.close()
            raise
        with self._changed:
            self._process = process
            self._starting = False
            self._told_cwd = started.directory
            self._is_zsh = started.is_zsh
        deps.listener.started(self.conversation_id, self.pty_id, started.directory, process.pid)
        with self._changed:
            closing = self._closing
            self._changed.notify_all()
        if closing:
            self._signal(process, signal.SIGHUP)

    def _did_not_start(self) -> None:
        self._files.remove()
        with self._changed:
            self._starting = False
            self._ended = True
            self._changed.notify_all()

    def close(self) -> None:
        """Ends the shell: SIGHUP, after a while SIGKILL. Blocks until it is gone."""
        self.hang_up()
        self.kill_unless_gone(self._limits.close_kill_s)

    def hang_up(self) -> None:
        """Asks the shell to end; does not wait."""
        with self._changed:
            self._closing = True
            self._kill_at = self._clock.monotonic() + self._limits.close_kill_s
            process = self._process
            if process is None:
                self._ended = not self._starting
            self._changed.notify_all()
        if process is not None:
            process.post(lambda master: self._hang_up(process, master))

    def _hang_up(self, process: ShellProcess, master: int) -> None:
        self._strays.left_by(process.pid, terminal.foreground(master))
        os.kill(process.pid, signal.SIGHUP)

    def kill_unless_gone(self, timeout_s: float) -> bool:
        """Waits until the shell is gone, and kills it when the time is over. Says whether it is
        gone in the end."""
        process = self._process
        if process is None or process.wait_gone(max(0.0, timeout_s)):
            return True
        self._signal(process, signal.SIGKILL)
        return process.wait_gone(self._limits.after_kill_s)

    def _signal(self, process: ShellProcess, number: signal.Signals) -> None:
        process.post(lambda _master: os.kill(process.pid, number))

    def _forget_settings(self) -> None:
        if not self._settings_forgotten:
            self._settings_forgotten = True
            self._files.forget_settings()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # On pty-reader.

    def run_ended(self, run: Run) -> None:
        """A typed line ended (see `process.Owner`)."""
        self._left.over()
        with self._changed:
            process = self._process
            self._idle_since = self._clock.monotonic()
        if process is not None and self._left.tell_end(run, process):
            self._tell_directory(process.state.cwd)

    def over(self, exit_code: int | None) -> None:
        """The shell is gone (see `process.Owner`)."""
        with self._changed:
            runs, closing = self._open_runs, self._closing
            left = [run for run in runs if run.left]
            for run in left:
                run.left_end = "closed" if closing else "shell_exited"
            self._ended = True
            process = self._process
            self._changed.notify_all()
        if process is not None and runs and not closing:
            self._strays.left_by(process.pid, runs[0].tracker.group)  # as of the last look
        self._files.remove()
        for run in left:
            if process is not None:
                self._left.tell_end(run, process)
        self._deps.listener.exited(self.conversation_id, self.pty_id, exit_code)

    # Input.

    def answer(self, call_id: str, text: str, hidden: bool, manual: bool) -> None:
        """Types one line into the call's command. Raises NoSuchCall, NotWaiting, BadAnswer.

        The text goes nowhere else, and whether it may is asked right before it is written.
        """
        check_text(text, self._limits)
        with self._changed:
            runs, process = self._open_runs, self._process
            waits = any(ticket.call_id == call_id for ticket in self._calls)
        run = next((run for run in runs if run.call.call_id == call_id and not run.left), None)
        if run is None or process is None:
            if waits:
                raise NotWaiting(call_id, "its command does not run yet")
            raise NoSuchCall(call_id)
        type_answer(process, run, text, hidden, manual)

    # Commands left running.

    def interrupt(self, call_id: str) -> None:
        """Stops the command left running: as Ctrl+C, then harder. Raises NoSuchCall, and
        CommandRuns when its call has not answered."""
        run = self._left_of(call_id)
        process = self._process
        assert process is not None  # it runs in it
        self._left.interrupt(run, process)

    def check_stop(self, call_id: str, close: bool) -> None:
        """Raises what `interrupt` would, or what speaks against a close for `call_id`: only a shell
        whose command it is, or that runs nothing, is closed."""
        if not close or self.busy:
            self._left_of(call_id)

    def _left_of(self, call_id: str) -> Run:
        with self._changed:
            runs = self._open_runs
            called = any(ticket.call_id == call_id for ticket in self._calls)
        run = next((run for run in runs if run.call.call_id == call_id and run.left), None)
        if run is not None:
            return run
        raise CommandRuns(call_id) if called else NoSuchCall(call_id)

    def tend(self) -> None:
        """A look at a command left running, and at a shell that does not go. Does not block."""
        with self._changed:
            run, process = self._left_run, self._process
            kills = self._closing and self._clock.monotonic() >= self._kill_at
        if process is None:
            return
        if run is not None:
            process.post(lambda master: self._left.look(run, process, master))
        if kills:
            self._signal(process, signal.SIGKILL)

    def idle_for(self, now: float) -> float:
        """Seconds at a prompt without a call and without output; 0 while anything runs."""
        with self._changed:
            process = self._process
            if process is None or self._calls or self._left_run is not None:
                return 0.0
            if not process.state.at_prompt and process.state.phase is not Phase.UNMARKED:
                return 0.0
            if process.is_watched:
                return 0.0
            return now - max(self._idle_since, process.last_output, process.last_used)


class _Nobody:
    """Watches efr's own lines."""

    def output(self, tail: str, total_bytes: int) -> None:
        """Nobody reads it."""

    def input_changed(self, wait: InputWait, looks_secret: bool, prompt: str | None) -> None:
        """Nobody answers."""

    def someone_can_answer(self) -> bool:
        """Nobody can."""
        return False
