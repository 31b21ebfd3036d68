"""Follows one typed line until its call can be answered: a straight story, on the call's thread.

It waits for marks, output, the limit, a cancel and the next look, all as deadlines of one wait.
What it finds goes to the watcher, outside every lock.
"""

from __future__ import annotations

from efr.base.cancel import Cancel
from efr.shell import notes
from efr.shell.contract import CallEnd, CallWatcher, EndKind
from efr.shell.errors import PtyClosed
from efr.shell.output import live_tail, output_text
from efr.shell.plain import clean
from efr.shell.process import Front, ShellProcess
from efr.shell.state import Run
from efr.shell.stopper import Stopper
from efr.shell.typed import KEY_PROBE
from efr.shell.waits import NOTHING, decide


class Follower:
    """One call's wait. `interactive_s` is the limit while somebody can type."""

    def __init__(
        self,
        shell: ShellProcess,
        run: Run,
        cancel: Cancel,
        watcher: CallWatcher,
        interactive_s: float,
    ) -> None:
        clock, limits = shell.clock, shell.limits
        self._shell = shell
        self._run = run
        self._cancel = cancel
        self._watcher = watcher
        self._clock = clock
        self._limits = limits
        self._interactive_s = interactive_s
        self._start = clock.monotonic()
        self._limit_s = min(max(run.call.timeout_s, limits.shortest_s), limits.longest_s)
        self._extended = False  # past its own limit, because somebody can type
        self._last_look = self._start
        self._last_live = float("-inf")
        self._told_tail = ""
        self._told = 0  # stream offset up to which the watcher heard of output
        self._probe_at: float | None = None
        self._stopper: Stopper | None = None
        self._stopped_as: EndKind = "interrupted"

    def follow(self) -> CallEnd:
        """Blocks until the command ended, was left running, or the shell is gone."""
        while True:
            self._wait()
            if self._run.ended is not None:
                return self._ended()
            if self._shell.gone:
                return self._gone()
            now = self._clock.monotonic()
            if (end := self._do_what_is_due(now)) is not None:
                return end
            if self._has_news and now >= self._last_live + self._limits.live_s:
                self._tell_output(now)

    # Waiting.

    def _wait(self) -> None:
        shell, run = self._shell, self._run
        with shell.changed:
            while not (run.ended is not None or shell.gone or self._is_cancelled):
                now = self._clock.monotonic()
                due = self._due(now)
                noticed = run.redrawn == (self._probe_at is not None)
                if now >= due or run.tracker.look_now or not noticed:
                    return
                if not self._has_news:
                    shell.wants_output = True
                shell.changed.wait(due - now)

    @property
    def _is_cancelled(self) -> bool:
        return self._cancel.cancelled and self._stopper is None

    @property
    def _has_news(self) -> bool:
        began = self._run.began
        return began is not None and self._shell.seen.size > max(self._told, began)

    def _due(self, now: float) -> float:
        """When to look at something next. Under the lock."""
        times = [self._next_look]
        if self._stopper is not None:
            times.append(self._stopper.due)
        elif not self._extended:
            times.append(self._limit)
        if self._probe_at is not None:
            times.append(self._probe_at)
        if self._has_news:
            times.append(self._last_live + self._limits.live_s)
        return min(times)

    @property
    def _limit(self) -> float:
        if self._run.sentinel is not None and self._run.began is None:
            return self._start + min(self._limits.begin_s, self._limit_s)
        return self._start + self._limit_s

    @property
    def _next_look(self) -> float:
        """Each second, and as soon as the output has been quiet for one."""
        settled = self._shell.last_output + self._limits.hidden_quiet_s
        regular = self._last_look + self._limits.look_s
        return settled if self._last_look < settled < regular else regular

    def _do_what_is_due(self, now: float) -> CallEnd | None:
        if self._is_cancelled:
            self._stop("interrupted", now)
        if self._stopper is not None:
            if not self._stopper.step(now):
                return self._leave(self._stopped_as, notes.UNSTOPPABLE)
        elif now >= self._limit and not self._goes_on(now):
            return self._at_limit()
        self._probe(now)
        if now >= self._next_look or self._run.tracker.look_now:
            self._last_look = now
            self._look(now)
            self._extended = False  # asked again when the limit is checked next
        return None

    def _probe(self, now: float) -> None:
        """Asks whether the line's keys were read, a while after its prompt came again."""
        with self._shell.changed:
            waits = self._run.redrawn
            asks = waits and self._probe_at is not None and now >= self._probe_at
            self._run.redrawn = waits and not asks
        if asks:
            self._shell.type(KEY_PROBE)
        if not waits or asks:
            self._probe_at = None
        elif self._probe_at is None:
            self._probe_at = now + self._limits.redrawn_s

    def _goes_on(self, now: float) -> bool:
        """Whether the call may run past its own limit."""
        self._extended = (
            self._run.call.interactive
            and self._run.began is not None
            and now < self._start + self._interactive_s
            and self._watcher.someone_can_answer()
        )
        return self._extended

    def _stop(self, kind: EndKind, now: float, group: int | None = None) -> None:
        self._stopped_as = kind
        with self._shell.changed:
            self._run.cancelled = True
        shell, run = self._shell, self._run
        self._stopper = Stopper(shell.post, shell.pid, run, self._limits, now, group)

    # Looking.

    def _look(self, now: float) -> None:
        """One look at what the command does with its terminal."""
        if not self._run.runs:
            return
        try:
            front = self._shell.front()
        except (PtyClosed, TimeoutError):
            return
        state = NOTHING
        if front.group is not None and front.group != self._shell.pid:
            state = decide(
                front.modes,
                now - self._shell.last_output,
                self._shell.seen.alternate,
                self._cursor_row,
                self._limits,
            )
        tracker = self._run.tracker
        with self._shell.changed:
            is_new = tracker.look(front.group, self._shell.pid, lambda: state)
            reported = tracker.reported
        if is_new:
            self._watcher.input_changed(reported.wait, reported.looks_secret, reported.prompt)
        if reported.wait == "hidden" and self._stopper is None:
            self._stop_unanswerable(front, now)

    def _stop_unanswerable(self, front: Front, now: float) -> None:
        if self._run.call.nonce is not None or not self._watcher.someone_can_answer():
            self._stop("needs_input", now, front.group)

    def _cursor_row(self) -> tuple[str, int]:
        view = self._shell.view(stop=self._is_pressing)
        return view.row, view.column

    def _is_pressing(self) -> bool:
        """Whether something is more urgent than a screen that is up to date."""
        run = self._run
        over = run.ended is not None or self._shell.gone
        late = not self._extended and self._clock.monotonic() >= self._limit
        return over or late or self._is_cancelled

    def _tell_output(self, now: float) -> None:
        began, end = self._run.began or 0, self._shell.seen.size
        self._last_live = now
        self._told = end
        tail = self._tail(began, end, self._shell.limits.rows)
        if tail != self._told_tail:
            self._told_tail = tail
            self._watcher.output(tail, end - began)

    def _tail(self, began: int, end: int, rows: int) -> str:
        """The last of the output so far, as text."""
        if self._shell.seen.alternate:
            return "\n".join(self._shell.view(rows, self._is_pressing).rows).strip("\n")
        return live_tail(self._shell.read, began, end, self._shell.limits)

    # Ends.

    def _at_limit(self) -> CallEnd:
        run = self._run
        if run.sentinel is not None and run.began is None:
            return self._no_shell_answered()
        state, full_screen = run.tracker.reported, self._shell.seen.alternate
        return self._leave("timed_out", notes.left_running(self._limit_s, state, full_screen))

    def _no_shell_answered(self) -> CallEnd:
        """The begin marker of a sentinel run did not come."""
        with self._shell.changed:
            self._run.ended = self._shell.seen.size
        if self._run.call.nested:
            return CallEnd("not_run", note=notes.NO_NESTED_SHELL)
        return CallEnd("failed", note=notes.no_prompt(self._limits.start_s))

    def _leave(self, kind: EndKind, note: str) -> CallEnd:
        """Answers while the command goes on, unless it just ended."""
        with self._shell.changed:
            if self._run.ended is None and not self._shell.gone:
                self._run.left = True
                self._run.left_at = self._clock.monotonic()
        if not self._run.left:
            return self._ended() if self._run.ended is not None else self._gone()
        rows = self._limits.left_rows
        tail = self._tail(self._run.began or self._run.typed_at, self._shell.seen.size, rows)
        text = "\n".join(tail.splitlines()[-rows:])
        return CallEnd(kind, None, text, False, self._shell.state.cwd, note, left_running=True)

    def _gone(self) -> CallEnd:
        text, truncated = self._output(self._shell.seen.size)
        return CallEnd(
            "shell_exited", self._shell.exit_code, text, truncated, None, notes.SHELL_ENDED
        )

    def _ended(self) -> CallEnd:
        run = self._run
        cwd = run.directory or self._shell.state.cwd
        if run.began is None:
            return self._nothing_ran(cwd)
        text, truncated = self._output(run.ended or run.began)
        kind: EndKind = "exited" if self._stopper is None else self._stopped_as
        note = None
        if kind == "needs_input":
            contained = run.call.nonce is not None
            note = notes.NO_SECRET_INSIDE if contained else notes.NEEDS_INPUT
        elif run.sentinel is not None and run.status is None:
            note = notes.NESTED_GONE
        return CallEnd(kind, run.status, text, truncated, cwd, note)

    def _nothing_ran(self, cwd: str | None) -> CallEnd:
        if self._stopper is not None:
            return CallEnd("interrupted", cwd=cwd, note=notes.INTERRUPTED_BEFORE)
        if self._run.open_quote:
            return CallEnd("not_run", cwd=cwd, note=notes.OPEN_QUOTE)
        end = self._run.ended or 0
        start = max(self._run.taken or self._run.typed_at, end - self._limits.unstarted_bytes)
        complaint = clean(self._shell.read(start, end)).strip()
        return CallEnd("not_run", output=complaint, cwd=cwd, note=notes.NOT_PARSED)

    def _output(self, end: int) -> tuple[str, bool]:
        if self._run.began is None:
            return "", False
        return output_text(self._shell.read, self._run.began, end, self._shell.limits)
