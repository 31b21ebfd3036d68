"""One conversation's hidden shell: starting it, running calls in it, answering what it asks.

A `HiddenShell` is one process's life; when that ended, `Shells` makes a new one. Calls block on the
thread that runs them. Only one call runs and one waits. All state is under one condition, shared
with the process; what is slow happens outside of it.
"""

from __future__ import annotations

import os
import shlex
import signal
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.base.ids import Ids
from efr.shell import notes, terminal
from efr.shell.answers import check_text, type_answer
from efr.shell.contract import (
    BusyCommand,
    CallEnd,
    CallWatcher,
    InputWait,
    LeftEnd,
    LeftListener,
    Reader,
    Recorder,
    ShellCall,
    ShellListener,
    ShellSettings,
)
from efr.shell.environment import hidden_environment
from efr.shell.errors import CannotMove, NoSuchCall, NotWaiting, ShellDidNotStart
from efr.shell.follow import Follower
from efr.shell.integration import ShellDirectory
from efr.shell.limits import LIMITS, Limits
from efr.shell.process import ShellProcess
from efr.shell.spawn import Program, find_program, nearest_directory, spawn
from efr.shell.state import Phase, Run
from efr.shell.stopper import Stopper
from efr.shell.typed import Sentinel, refusal, typed_line
from efr.shell.waits import NOTHING, InputTracker, decide
from efr.shell.words import starts_shell

_MOST_CALLS: Final = 2  # one runs, one waits


@dataclass(frozen=True)
class ShellDeps:
    """What shells need from outside. `nonce` gives 32 random hex digits; `environment` is the
    user's, `trusted` the program names of the permission rules, both read at a start."""

    reader: Reader
    clock: Clock
    ids: Ids
    nonce: Callable[[], str]
    recorder: Callable[[str], Recorder]
    listener: ShellListener
    left: LeftListener
    environment: Callable[[], Mapping[str, str]]
    settings: Callable[[], ShellSettings]
    zsh_dir: Path
    trusted: Callable[[], Collection[str]] = field(default=tuple)
    limits: Limits = LIMITS


class _Ticket:
    """One call's place in the row."""

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id


class HiddenShell:
    """Any thread may call. `run` and `move_to` block; so does `close`."""

    def __init__(
        self, conversation_id: str, start_dir: str, scratch: str | None, deps: ShellDeps
    ) -> None:
        self.conversation_id = conversation_id
        self.pty_id = deps.ids.new()
        self.trusted = frozenset(deps.trusted())
        self._deps = deps
        self._limits = deps.limits
        self._clock = deps.clock
        self._start_dir = start_dir
        self._scratch = scratch
        self._directory = ShellDirectory(deps.zsh_dir / self.pty_id)
        self._changed = threading.Condition()
        self._process: ShellProcess | None = None
        self._starting = False
        self._start_deadline = 0.0
        self._calls: list[_Ticket] = []  # tickets: the first runs, the second waits
        self._told_cwd = start_dir
        self._settings_forgotten = False
        self._is_zsh = True
        self._ended = False
        self._closing = False
        self._left_stopper: Stopper | None = None
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
        """Whether its process is gone."""
        with self._changed:
            return self._ended

    @property
    def search_path(self) -> str | None:
        """Its PATH as of its last prompt; None when unknown."""
        return self._directory.search_path

    @property
    def busy(self) -> bool:
        """Whether a command runs in it, also one that its call left running."""
        with self._changed:
            return bool(self._calls) or self._left_run is not None

    @property
    def command(self) -> BusyCommand | None:
        """The command that holds it, for `shell.status`."""
        with self._changed:
            run = self._running
            if run is None or self._process is None:
                return None
            return self._describe(run, self._process)

    def _describe(self, run: Run, process: ShellProcess) -> BusyCommand:
        return BusyCommand(
            run.call.call_id,
            run.call.line[: self._limits.named_chars],
            run.since_us,
            run.call.nonce is not None,
            run.left,
            run.tracker.reported,
            process.seen.alternate,
        )

    @property
    def _running(self) -> Run | None:
        """The run that is typed and has not ended; of two, the one in front."""
        if self._process is None or self._ended:
            return None
        state = self._process.state
        runs = (run for run in (state.sentinel_run, state.run) if run is not None)
        return next((run for run in runs if run.ended is None), None)

    @property
    def _left_run(self) -> Run | None:
        if self._process is None or self._ended:
            return None
        state = self._process.state
        runs = (run for run in (state.run, state.sentinel_run) if run is not None)
        return next((run for run in runs if run.left and run.ended is None), None)

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
            return run
        process = self._process
        assert process is not None  # there is a turn only with a process
        self._forget_settings()
        keys = run.sentinel.keys if run.sentinel is not None else typed_line(call.line)
        process.type(keys)
        minutes = self._deps.settings().interactive_timeout_minutes
        follower = Follower(process, run, cancel, watcher, self._clock, self._limits, minutes * 60)
        end = follower.follow()
        if end.left_running:
            self._left_behind(run)
        if end.kind == "failed":
            self.close()
        self._tell_directory(end.cwd)
        return end

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
            except (ShellDidNotStart, OSError) as exc:
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
            return CallEnd("shell_exited", note=notes.SHELL_GONE)
        if self._process is None or self._calls[0] is not ticket:
            return None
        if self.trusted != frozenset(self._deps.trusted()):
            return CallEnd("busy", note=notes.TRUSTED_CHANGED)
        state = self._process.state
        by_sentinel = self._types_by_sentinel(call)
        if by_sentinel is None:
            return None
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

    def _types_by_sentinel(self, call: ShellCall) -> bool | None:
        """Whether the line is typed between sentinels; None: not yet."""
        assert self._process is not None
        state = self._process.state
        if state.phase is Phase.READY:
            return False
        other = state.sentinel_run
        if other is not None and other.ended is None:
            return None
        left = state.run is not None and state.run.left and state.run.ended is None
        if state.phase is Phase.UNMARKED or (call.nested and left):
            return True
        return None

    def _too_busy(self, limit_s: float) -> CallEnd:
        run = self._running
        line = run.call.line[: self._limits.named_chars] if run is not None else ""
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
        deps, settings = self._deps, self._deps.settings()
        user = deps.environment()
        directory = nearest_directory(self._start_dir)
        nonce = deps.nonce()
        self._directory.write(nonce, user.get("ZDOTDIR", ""), self.trusted)
        program = find_program(settings.program, user.get("PATH"))
        name = Path(program).name
        self._is_zsh = name.startswith("zsh")
        environment = hidden_environment(
            user,
            directory=directory,
            scratch=self._scratch,
            zdotdir=str(self._directory.path),
            no_editor=self._directory.no_editor,
        )
        if not self._is_zsh:
            del environment["ZDOTDIR"]
        arguments = [name, "-l"] if settings.login else [name]
        what = Program(program, arguments, directory, environment)
        recorder = deps.recorder(self.pty_id)
        recorder.resize(self._limits.columns, self._limits.rows)
        spawned = spawn(what, self._limits.columns, self._limits.rows)
        process = ShellProcess(
            spawned,
            nonce,
            recorder,
            self._changed,
            self._clock,
            self._limits,
            self._run_ended,
            self._over,
        )
        with self._changed:
            self._process = process
            self._starting = False
            self._told_cwd = directory
            if not self._is_zsh:
                process.state.phase = Phase.UNMARKED
        process.attach(deps.reader)
        deps.listener.started(self.conversation_id, self.pty_id, directory, process.pid)
        with self._changed:
            closing = self._closing
            self._changed.notify_all()
        if closing:
            self._signal(process, signal.SIGHUP)

    def _did_not_start(self) -> None:
        self._directory.remove()
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
            process = self._process
            if process is None:
                self._ended = not self._starting
            self._changed.notify_all()
        if process is not None:
            self._signal(process, signal.SIGHUP)

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
            self._directory.forget_settings()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # On pty-reader.

    def _run_ended(self, run: Run) -> None:
        self._left_stopper = None
        with self._changed:
            told = run.left_told
            cwd = self._process.state.cwd if self._process is not None else None
            self._idle_since = self._clock.monotonic()
        if told:
            self._left_ended(run, run.left_end)
            self._tell_directory(cwd)

    def _over(self, exit_code: int | None) -> None:
        with self._changed:
            left = self._left_run
            self._ended = True
            self._changed.notify_all()
        if left is not None and left.left_told:
            self._left_ended(left, self._end_with_shell)
        self._deps.listener.exited(self.conversation_id, self.pty_id, exit_code)
        self._directory.remove()

    @property
    def _end_with_shell(self) -> LeftEnd:
        return "closed" if self._closing else "shell_exited"

    def _left_ended(self, run: Run, how: LeftEnd) -> None:
        self._deps.left.left_ended(self.conversation_id, run.call.call_id, how, run.status)

    def _left_behind(self, run: Run) -> None:
        """Tells of a command left running, and of its end when that came first. On the thread of
        its call."""
        assert self._process is not None
        self._deps.left.left_behind(self.conversation_id, self._describe(run, self._process))
        with self._changed:
            run.left_told = True
            how = run.left_end if run.ended is not None else self._end_with_shell
            is_over = run.ended is not None or self._ended
        if is_over:
            self._left_ended(run, how)

    # Input.

    def answer(self, call_id: str, text: str, hidden: bool, manual: bool) -> None:
        """Types one line into the call's command. Raises NoSuchCall, NotWaiting, BadAnswer.

        The text goes nowhere else, and whether it may is asked right before it is written.
        """
        check_text(text, self._limits)
        with self._changed:
            run, process = self._running, self._process
            waits = any(ticket.call_id == call_id for ticket in self._calls)
        if run is None or process is None or run.left or run.call.call_id != call_id:
            if waits:
                raise NotWaiting(call_id, "its command does not run yet")
            raise NoSuchCall(call_id)
        type_answer(process, run, text, hidden, manual)

    # Commands left running.

    def interrupt(self, call_id: str) -> None:
        """SIGINT to the command left running, as Ctrl+C. Raises NoSuchCall."""
        with self._changed:
            run, process = self._left_run, self._process
            if run is None or process is None or run.call.call_id != call_id:
                raise NoSuchCall(call_id)
            run.left_end = "stopped"
        process.post(terminal.press_interrupt)

    def tend(self) -> None:
        """A look at a command left running, once a second or so; does not block."""
        with self._changed:
            run, process = self._left_run, self._process
        if run is not None and process is not None:
            process.post(lambda master: self._look_at_left(run, process, master))

    def _look_at_left(self, run: Run, process: ShellProcess, master: int) -> None:
        """On pty-reader."""
        now = self._clock.monotonic()
        self._keep_limit(run, process, now)
        group = terminal.foreground(master)
        state = NOTHING
        if group is not None and group != process.pid:
            quiet_s = now - process.last_output
            modes = terminal.modes(master)

            def row() -> tuple[str, int]:
                view = process.glance()
                return (view.row, view.column) if view is not None else ("", 0)

            state = decide(modes, quiet_s, process.seen.alternate, row, self._limits)
        with self._changed:
            is_new = run.ended is None and run.tracker.look(group, process.pid, lambda: state)
            reported = run.tracker.reported
        if is_new:
            self._deps.left.left_input_changed(self.conversation_id, run.call.call_id, reported)

    def _keep_limit(self, run: Run, process: ShellProcess, now: float) -> None:
        limit_s = self._deps.settings().interactive_timeout_minutes * 60
        if self._left_stopper is not None:
            self._left_stopper.step(now)
        elif now >= run.left_at + limit_s:
            run.left_end = "limit"
            self._left_stopper = Stopper(process.post, process.pid, run, self._limits, now)

    def idle_for(self, now: float) -> float:
        """Seconds at a prompt without a call and without output; 0 while anything runs."""
        with self._changed:
            process = self._process
            if process is None or self._calls or self._left_run is not None:
                return 0.0
            if not process.state.at_prompt and process.state.phase is not Phase.UNMARKED:
                return 0.0
            return now - max(self._idle_since, process.last_output)


class _Nobody:
    """Watches efr's own lines."""

    def output(self, tail: str, total_bytes: int) -> None:
        """Nobody reads it."""

    def input_changed(self, wait: InputWait, looks_secret: bool, prompt: str | None) -> None:
        """Nobody answers."""

    def someone_can_answer(self) -> bool:
        """Nobody can."""
        return False
