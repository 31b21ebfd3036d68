"""Where the shell is, as its marks tell: one phase, one directory, and the line that was typed.

Pure: marks in, keys to press out. The owner calls it under the shell's lock, with marks in stream
order. Which marks count: those with the shell's own nonce (`aid`); for a typed line those that
began after it was typed; a `D` ends a command only while the shell's own group holds the terminal,
and a contained call only after the mark with the call's nonce.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from msgspec import Struct

from efr.shell.contract import LeftEnd, ShellCall
from efr.shell.marks import Mark
from efr.shell.typed import KEY_CANCEL, KEY_FORGET, Sentinel, typed_line
from efr.shell.waits import InputTracker


class Phase(Enum):
    """What the shell does."""

    STARTING = "starting"  # before its first prompt
    PROMPTING = "prompting"
    READY = "ready"  # at its prompt
    TYPED = "typed"  # a line was typed and has not started
    CONTINUATION = "continuation"  # it asks for more of the line
    RUNNING = "running"
    UNMARKED = "unmarked"  # no mark came: no integration


class Run(Struct):
    """One typed line. Offsets are stream offsets; the output is from `began` to `ended`."""

    call: ShellCall
    typed_at: int
    since_us: int
    tracker: InputTracker
    types_into_shell: bool  # its line starts a shell or REPL: no typed answers
    sentinel: Sentinel | None = None
    cancelled: bool = False  # it is being stopped: it is not typed again
    redrawn: bool = False  # the prompt came again before zsh took the line: its keys may be lost
    taken: int | None = None  # offset after the mark that zsh took the line
    began: int | None = None
    ended: int | None = None
    status: int | None = None
    directory: str | None = None  # a sentinel run's, after it
    open_quote: bool = False
    contained_end: bool = False  # the mark with the call's nonce came
    left: bool = False  # its call answered, the command goes on
    left_at: float = 0.0  # monotonic
    left_told: bool = False  # the listener knows of it
    end_told: bool = False  # and of its end
    left_end: LeftEnd = "ended"  # how it ends, when it was helped
    forgets: bool = False  # sudo's cache is to be cleared after it

    @property
    def runs(self) -> bool:
        """Whether its command started and has not ended."""
        return self.began is not None and self.ended is None


_AT_PROMPT: Final = frozenset((Phase.PROMPTING, Phase.READY))
_NEXT_MARK: Final = 2  # from the last byte of a mark to the next mark, over the CAN between them


class ShellState:
    """The phase, the directory and the current run."""

    def __init__(self, nonce: str) -> None:
        self.phase = Phase.STARTING
        self.cwd: str | None = None
        self.run: Run | None = None  # of the shell's own prompt; also one that ended or was left
        self.sentinel_run: Run | None = None  # typed into a shell that is in front, or unmarked
        self._nonce = nonce
        self._said: Mark | None = None  # the last directory mark; it counts with the D after it
        self._forget = False

    def typed(self, run: Run) -> None:
        """A line is being typed."""
        if run.sentinel is not None:
            self.sentinel_run = run
        else:
            self.run = run
            self.phase = Phase.TYPED

    @property
    def at_prompt(self) -> bool:
        """Whether the shell itself is in front and runs nothing."""
        return self.phase in _AT_PROMPT

    @property
    def takes_no_keys(self) -> bool:
        """Whether the shell reads only what efr types: at its prompt, and until the line runs."""
        return self.at_prompt or self.phase is Phase.TYPED

    @property
    def open_runs(self) -> list[Run]:
        """The runs that have not ended, the one in front first."""
        runs = (self.sentinel_run, self.run)
        return [run for run in runs if run is not None and run.ended is None]

    def feed_sentinel(self, data: bytes, offset: int) -> None:
        """Looks for the markers of the sentinel run in the chunk at `offset`."""
        run = self.sentinel_run
        if run is None or run.sentinel is None or run.ended is not None:
            return
        run.sentinel.feed(data, offset)
        run.began = run.sentinel.began
        if (end := run.sentinel.end) is not None:
            run.ended, run.status = end.start, end.status
            run.directory = end.directory
            if self.phase is Phase.UNMARKED:
                self.cwd = end.directory
        elif self.at_prompt:  # the shell that it was typed into is gone
            run.ended = offset

    def apply(self, mark: Mark, shell_in_front: bool) -> bytes:
        """Takes one mark; returns keys to press."""
        if mark.action == "cwd":
            self._said = mark
            return b""
        run = self._run_of(mark)
        if mark.action == "sbx":
            if run is not None and run.runs and mark.text == run.call.nonce:
                run.contained_end = True
            return b""
        if mark.aid != self._nonce:
            return b""
        match mark.action:
            case "A" if self.phase in (Phase.STARTING, Phase.UNMARKED, *_AT_PROMPT):
                self.phase = Phase.PROMPTING
            case "P" if mark.kind == "r":
                if run is not None and run.taken is None:
                    run.taken = mark.last + 1
                    run.redrawn = False
            case "P" if mark.kind == "c":
                return self._probed(mark, run)
            case "P" if self.phase is Phase.TYPED:
                self.phase = Phase.CONTINUATION
            case "B":
                return self._ready(run)
            case "C" if self.phase is not Phase.RUNNING:
                self.phase = Phase.RUNNING
                if run is not None and run.began is None:
                    run.began = mark.last + 1
            case "D":
                self._done(mark, run, shell_in_front)
        return b""

    def _run_of(self, mark: Mark) -> Run | None:
        """The run that the mark may tell about."""
        run = self.run
        if run is None or mark.start < run.typed_at:
            return None
        return run

    def _ready(self, run: Run | None) -> bytes:
        if self.phase is Phase.CONTINUATION and run is not None:
            if run.open_quote:
                return b""
            run.open_quote = True
            return KEY_CANCEL
        if self.phase is Phase.TYPED and run is not None:
            run.redrawn = run.taken is None
        if self.phase is Phase.PROMPTING:
            if self._forget:
                self._forget = False
                return KEY_FORGET  # its prompt is drawn again after it
            self.phase = Phase.READY
        return b""

    def _probed(self, mark: Mark, run: Run | None) -> bytes:
        """Every key typed so far was read."""
        if self.phase is not Phase.TYPED or run is None or run.taken is not None:
            return b""
        run.redrawn = False
        if run.cancelled:
            run.ended = mark.start
            self.phase = Phase.READY
            return b""
        return typed_line(run.call.line)

    def _done(self, mark: Mark, run: Run | None, shell_in_front: bool) -> None:
        if self.phase is Phase.RUNNING:
            contained = run is not None and run.call.nonce is not None
            if not shell_in_front or mark.status is None:
                return
            if contained and run is not None and not run.contained_end:
                return
        elif run is None or run.taken is None:
            # Not about a typed line: the first prompt, or one that Ctrl+C drew anew.
            if self.phase in (Phase.STARTING, Phase.UNMARKED):
                self._take_directory(mark)
            return
        end = self._take_directory(mark)
        self.phase = Phase.PROMPTING
        if run is not None and run.ended is None:
            run.ended = end
            run.status = mark.status if run.began is not None else None
            self._forget = run.forgets and run.began is not None

    def _take_directory(self, mark: Mark) -> int:
        """Takes the directory said right before `D`; returns where the output ended."""
        said, self._said = self._said, None
        if said is None:
            return mark.start
        self.cwd = said.text
        return said.start if mark.start - said.last <= _NEXT_MARK else mark.start
