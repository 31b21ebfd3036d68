"""The room's edge: what a call is, how it ends, who watches it, and who keeps its bytes.

Plain values and protocols. Those above (`tools`, `agent`) build calls and read ends; `store` and
`threads` come in as `Recorder`, `Reader` and `Link`.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

T = TypeVar("T")

InputWait = Literal["none", "visible", "hidden"]
Approver = Literal["you", "your_rule", "reviewer", "full_mode"]  # who let a command run
EndKind = Literal[
    "exited",  # the command ended; exit_code is set
    "not_run",  # nothing ran: an open quote, a parse error, a line that cannot be typed
    "timed_out",  # at its limit; left_running
    "interrupted",  # somebody stopped it; left_running when it could not be stopped
    "shell_exited",  # the shell ended with it
    "needs_input",  # stopped, because it asked for hidden input that nobody could type
    "busy",  # an earlier command still runs; nothing ran
    "failed",  # the shell did not start; nothing ran
    "elsewhere",  # the shell does not stand in the call's directory; nothing ran
]


class ShellCall(Struct, frozen=True):
    """One line for the shell. `nonce` makes it a contained call (docs/hidden-shell.md, "Marks").

    `interactive`: approved although it may wait for keys. `nested`: typed into whatever shell is
    in front, between sentinels. A contained call's line is efr's own fixed one, and it ends only
    after the mark with its nonce. `approved_by`: None when nobody had to allow it. `directory`: the
    real path that the line was judged for; it runs nowhere else. None: anywhere.
    """

    call_id: str
    line: str
    timeout_s: float = 30.0
    interactive: bool = False
    nested: bool = False
    nonce: str | None = None
    approved_by: Approver | None = None
    directory: str | None = None


class CallEnd(Struct, frozen=True):
    """How a call ended. `output` is text, at most Limits.model_bytes; `note` is for the model."""

    kind: EndKind
    exit_code: int | None = None
    output: str = ""
    truncated: bool = False
    cwd: str | None = None
    note: str | None = None
    left_running: bool = False


class InputState(Struct, frozen=True):
    """What a running command waits for, as last reported."""

    wait: InputWait = "none"
    looks_secret: bool = False
    prompt: str | None = None


class BusyCommand(Struct, frozen=True):
    """The command that holds the shell. `left`: its call already answered the model."""

    call_id: str
    line: str
    since_us: int
    contained: bool
    left: bool
    input: InputState
    full_screen: bool
    approved_by: Approver | None = None


LeftEnd = Literal["ended", "stopped", "limit", "closed", "shell_exited"]


class CallWatcher(Protocol):
    """Follows one call, on the thread that runs it."""

    def output(self, tail: str, total_bytes: int) -> None:
        """New output: at most the last 4 KiB as text, and how many bytes there are so far."""

    def input_changed(self, wait: InputWait, looks_secret: bool, prompt: str | None) -> None:
        """What the command waits for changed. Each change comes once."""

    def someone_can_answer(self) -> bool:
        """Whether a terminal follows that can type an answer."""


class ShellListener(Protocol):
    """Hears about shells. `started` and `cwd_changed` come on the thread that runs the call,
    `exited` on pty-reader, so none may block."""

    def started(self, conversation_id: str, pty_id: str, cwd: str, pid: int) -> None:
        """A shell process runs."""

    def exited(self, conversation_id: str, pty_id: str, exit_code: int | None) -> None:
        """It ended; 128 and the signal's number when a signal ended it."""

    def cwd_changed(self, conversation_id: str, pty_id: str, cwd: str) -> None:
        """It stands in another directory after a call."""


class LeftListener(Protocol):
    """Hears about commands left running: for each first `left_behind`, on the thread that ran the
    call, and one `left_ended`. The others may come on pty-reader, so none may block."""

    def left_behind(self, conversation_id: str, command: BusyCommand) -> None:
        """Its call answers now; the command goes on."""

    def left_input_changed(self, conversation_id: str, command: BusyCommand) -> None:
        """What it waits for changed."""

    def left_ended(
        self, conversation_id: str, call_id: str, how: LeftEnd, exit_code: int | None
    ) -> None:
        """It ended, or the shell did."""


class Size(NamedTuple):
    """Of a terminal, in characters."""

    columns: int
    rows: int


class Tap(Protocol):
    """Follows one PTY from the moment it was added. Every method runs on pty-reader, in stream
    order, and must be quick."""

    def printed(self, offset: int, data: bytes) -> None:
        """The bytes from `offset` on; they are recorded."""

    def resized(self, offset: int, size: Size) -> None:
        """The terminal has this size from the byte at `offset` on."""

    def over(self) -> None:
        """The shell is gone. The last call."""


class Recorder(Protocol):
    """Keeps every byte of one PTY; the offset of a byte is its stream number."""

    @property
    def size(self) -> int:
        """How many bytes there are."""

    def append(self, data: bytes) -> int:
        """Keeps `data`; returns the offset of its first byte."""

    def resize(self, cols: int, rows: int) -> None:
        """Notes the terminal's size from here on."""

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`; fewer when some are gone."""

    def close(self) -> None:
        """No more bytes come."""


class Sink(Protocol):
    """Takes what one PTY prints. Every method runs on pty-reader and must be quick."""

    def fed(self, data: bytes) -> None:
        """More bytes, in order."""

    def more(self) -> None:
        """What `Link.again` asked for."""

    def ended(self, exit_code: int | None) -> None:
        """The process ended and every byte was delivered. The last call."""


class Link(Protocol):
    """One PTY as its shell sees it. Any thread may call."""

    def send(self, data: bytes) -> None:
        """Types `data`, after what was sent before. Never blocks for the program to read it."""

    def ask(self, job: Callable[[int], T]) -> Future[T]:
        """Runs `job(master descriptor)` on pty-reader, between two chunks. The answer is
        PtyClosed when the process is over."""

    def again(self) -> None:
        """Has `Sink.more` called soon, after other PTYs had their turn. On pty-reader alone."""

    def close(self) -> None:
        """Lets go of the PTY, when the process has ended. The descriptor is closed."""


class Reader(Protocol):
    """The thread that reads every PTY."""

    def attach(self, master: int, pid: int, sink: Sink) -> Link:
        """Owns `master` from now on, and waits for the child `pid`."""


class ShellSettings(Struct, frozen=True):
    """The `[shell]` settings that count, read when needed."""

    program: str | None = None  # None: zsh on the user's PATH
    login: bool = True
    idle_minutes: int = 60
    forget_sudo: bool = False  # sudo_cache = "per_call"
    interactive_timeout_minutes: int = 60
