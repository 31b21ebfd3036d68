"""One running shell: its PTY, what it printed, where it is, and what is in front of it.

The side of pty-reader: for each chunk first the recording, then the scanner and the state, then
answers to terminal queries. Everything else that many threads need is here too, under one lock,
`changed`: the state and its run, what was seen, whether it ended. Its calls are run by
`hidden.py`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from efr.base.clock import Clock
from efr.shell import terminal
from efr.shell.contract import Link, Reader, Recorder, Size, Tap
from efr.shell.errors import PtyClosed
from efr.shell.lazy import LazyScreen
from efr.shell.limits import Limits
from efr.shell.marks import Mark
from efr.shell.queries import answer
from efr.shell.scanner import Query, Scanner, Sign
from efr.shell.start import Started
from efr.shell.state import Phase, Run, ShellState
from efr.shell.viewer import Seen, View, Viewer
from efr.wire import types as t

log = logging.getLogger("efr.shell")

T = TypeVar("T")

_KEPT_SIZES: Final = 1000  # more than a person makes while 1 MiB is printed

# When programs may ask their terminal: not at a prompt, where the answer would be typed.
_ANSWERED: Final = frozenset((Phase.STARTING, Phase.RUNNING, Phase.UNMARKED))


class Front(NamedTuple):
    """Who holds the terminal, and how it is set; None when that cannot be read."""

    group: int | None
    modes: terminal.Modes | None


class Owner(Protocol):
    """Hears what ended, on pty-reader."""

    def run_ended(self, run: Run) -> None:
        """A typed line ended."""

    def over(self, exit_code: int | None) -> None:
        """The shell is gone. The last call."""


class ShellProcess:
    """A shell that was started; it tells its owner what ended."""

    def __init__(
        self,
        started: Started,
        recorder: Recorder,
        changed: threading.Condition,
        clock: Clock,
        limits: Limits,
        owner: Owner,
    ) -> None:
        self.pid = started.spawned.pid
        self.clock = clock
        self.limits = limits  # with the terminal's size of now; replaced under `changed`
        self.changed = changed
        self.state = ShellState(started.nonce)  # under `changed`, as all below
        if not started.is_zsh:
            self.state.phase = Phase.UNMARKED
        start = recorder.size  # 0 for a new recording
        self.seen = Seen(start)
        self.last_output = clock.monotonic()
        self.gone = False
        self.exit_code: int | None = None
        self.wants_output = False  # the next chunk wakes those who wait
        self.last_used = float("-inf")  # when somebody typed, or stopped looking
        self._own_size = Size(limits.columns, limits.rows)
        self._sizes: tuple[tuple[int, Size], ...] = ()  # the newest, for replays
        self._taps: tuple[Tap, ...] = ()
        self._master = started.spawned.master
        self._recorder = recorder
        self._owner = owner
        self._scanner = Scanner(start)
        self._viewer = Viewer(
            LazyScreen(limits.columns, limits.rows, start, scrollback=limits.scrollback_rows),
            self.read,
            lambda: self.seen,
            self.type,
            self._nudge,
            clock,
        )
        self._link: Link

    def _nudge(self) -> None:
        self._link.ask(lambda _master: self.more())

    def attach(self, reader: Reader) -> None:
        """Gives the PTY to the reading thread."""
        self._link = reader.attach(self._master, self.pid, self)

    # On pty-reader.

    def fed(self, data: bytes) -> None:
        """More of what the shell and its programs printed."""
        offset = self._recorder.append(data)
        signs = self._scanner.feed(data)
        in_front = bool(signs) and terminal.foreground(self._master) == self.pid
        scanner = self._scanner
        seen = Seen(
            offset + len(data),
            scanner.runs,
            scanner.open_run,
            scanner.alternate,
            scanner.modes,
        )
        with self.changed:
            self.seen = seen
            self.last_output = self.clock.monotonic()
            keys, ended = self._apply(data, offset, signs, in_front)
            answers = self.state.phase in _ANSWERED
            if signs or ended or self.wants_output:
                self.wants_output = False
                self.changed.notify_all()
            taps = self._taps
        for tap in taps:
            tap.printed(offset, data)
        if keys:
            self._link.send(keys)
        for run in ended:
            self._owner.run_ended(run)
        if answers:
            self._answer([sign for sign in signs if isinstance(sign, Query)])

    def _apply(
        self, data: bytes, offset: int, signs: list[Sign], in_front: bool
    ) -> tuple[bytes, list[Run]]:
        """Keys to press, and the runs that ended with this chunk. Under the lock."""
        state = self.state
        open_runs = state.open_runs
        keys = b""
        for sign in signs:
            if isinstance(sign, Mark):
                keys += state.apply(sign, in_front)
        state.feed_sentinel(data, offset)
        return keys, [run for run in open_runs if run.ended is not None]

    def _answer(self, queries: list[Query]) -> None:
        asks_cursor = False
        for query in queries:
            if query.kind in ("cursor", "cursor_dec"):
                self._viewer.report(query)
                asks_cursor = True
            else:
                self._link.send(answer(query, self._scanner.modes, None))
        if asks_cursor:
            self.more()

    def more(self) -> None:
        """Feeds the screen a little more, for a cursor report."""
        if self._viewer.step():
            self._link.again()

    def ended(self, exit_code: int | None) -> None:
        """The shell is gone, and everything it printed was seen."""
        with self.changed:
            self.gone = True
            self.exit_code = exit_code
            self.changed.notify_all()
            taps = self._taps
        for tap in taps:
            tap.over()
        self._owner.over(exit_code)
        self._link.close()
        self._recorder.close()

    # From any thread. What needs the master runs on pty-reader: it cannot be closed meanwhile.

    def type(self, keys: bytes) -> None:
        """Types after everything typed before."""
        self._link.send(keys)

    def ask(self, job: Callable[[int], T]) -> T:
        """What `job(master)` gives, run on pty-reader between two chunks. Raises PtyClosed."""
        return self._link.ask(job).result(self.limits.answer_s)

    def front(self) -> Front:
        """Who is in front, and how the terminal is set. Raises PtyClosed."""
        return self.ask(lambda master: Front(terminal.foreground(master), terminal.modes(master)))

    def post(self, job: Callable[[int], None]) -> None:
        """Runs `job(master)` on pty-reader, soon, and does not wait for it."""
        self._link.ask(job)

    def glance(self) -> View | None:
        """The cursor's row when the screen is up to date. On pty-reader alone."""
        view = self._viewer.glance()
        if view is None:
            self.more()
        return view

    def view(self, rows: int = 1, stop: Callable[[], bool] | None = None) -> View:
        """The screen as of now. Blocks while it catches up, at most until `stop` says so; not for
        pty-reader."""
        return self._viewer.look(rows, stop)

    # For those who look at it from outside.

    @property
    def is_watched(self) -> bool:
        """Whether somebody follows what it prints."""
        return bool(self._taps)

    def tap(self, tap: Tap) -> int:
        """Has `tap` told of everything from the returned offset on. Raises PtyClosed."""
        with self.changed:
            if self.gone:
                raise PtyClosed
            self._taps += (tap,)
            return self.seen.size

    def untap(self, tap: Tap) -> None:
        """Tells it nothing more; one call may still be on its way. May be called twice."""
        with self.changed:
            self._taps = tuple(one for one in self._taps if one is not tap)
            self.last_used = self.clock.monotonic()

    def snapshot(self, scrollback_rows: int) -> tuple[int, t.ScreenSnapshot]:
        """The screen as of now, and the offset behind what it shows. Blocks; not for pty-reader."""
        return self._viewer.snapshot(scrollback_rows)

    def sizes(self, start: int, end: int) -> list[tuple[int, Size]]:
        """The sizes that it got between two offsets (both included), in order."""
        return [one for one in self._sizes if start <= one[0] <= end]

    def type_for_user(self, keys: bytes) -> None:
        """Keys of a person, for the program in front; dropped while the shell is at its prompt.

        They would do nothing there, but a Ctrl+D between two prompts, when no line editor reads,
        is the end of the shell's input.
        """
        self.last_used = self.clock.monotonic()
        with self.changed:
            to_nobody = self.state.takes_no_keys
        if not to_nobody:
            self._link.send(keys)

    def resize(self, size: Size) -> None:
        """Gives the terminal another size. Blocks. Raises PtyClosed, TimeoutError."""
        self.ask(lambda master: self._resize(master, size))

    def resize_back(self) -> None:
        """Gives an unwatched terminal its own size again, which a look may have changed. Blocks.
        Raises PtyClosed, TimeoutError."""
        if not self.is_watched and (self.limits.columns, self.limits.rows) != self._own_size:
            self.resize(self._own_size)

    def _resize(self, master: int, size: Size) -> None:
        offset = self._recorder.size
        terminal.resize(master, size.columns, size.rows)
        self._recorder.resize(*size)
        self._viewer.resize(offset, size)
        with self.changed:
            self.limits = replace(self.limits, columns=size.columns, rows=size.rows)
            self._sizes = (*self._sizes[-_KEPT_SIZES:], (offset, size))
            taps = self._taps
        for tap in taps:
            tap.resized(offset, size)

    def read(self, start: int, end: int) -> bytes:
        """A piece of the recording; fewer bytes, or none, when some are gone."""
        try:
            return self._recorder.read(start, end)
        except OSError as exc:
            log.warning("bytes %d to %d of a recording cannot be read: %s", start, end, exc)
            return b""

    def wait_gone(self, timeout_s: float) -> bool:
        """Blocks until the shell is gone; False when the time is over."""
        with self.changed:
            return self.changed.wait_for(lambda: self.gone, timeout_s)
