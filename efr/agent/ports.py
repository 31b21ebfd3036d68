"""What the agent needs from beside and above: Protocols alone.

The daemon wires the real ones in; tests bring scripted ones. Rooms below (store values, provider
and tool contracts) are imported where they are used and stand here only where a method is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from efr.agent import settings
from efr.agent.place import Places
from efr.agent.preamble import Host
from efr.agent.settings import NO_SANDBOX, ModeLimits
from efr.agent.shell_life import ShellStart
from efr.base.clock import Clock
from efr.base.ids import Ids
from efr.base.roots import Roots
from efr.config.schema import Settings
from efr.providers.canonical import ToolDefinition
from efr.providers.registry import Active
from efr.shell.contract import BusyCommand
from efr.snapshots.room import Snapshots
from efr.store.batch import Batch, Committed
from efr.tools.contract import HiddenShell, Tool
from efr.wire import types as t

T = TypeVar("T")


class TimerEntry(Protocol):
    """A due time that can be taken back."""

    def cancel(self) -> None: ...


class Timers(Protocol):
    """The thread `timer`."""

    def at(self, due_monotonic: float, run: Callable[[], None]) -> TimerEntry:
        """Runs `run` on the timer's thread when that time has come; it must be short."""
        ...


class Workers(Protocol):
    """The threads `conversation-<id8>`."""

    def start(self, conversation_id: str, run: Callable[[], None]) -> None: ...

    def stop(self, deadline: float) -> list[str]:
        """Joins until the monotonic deadline; the names that missed it."""
        ...


class Writer(Protocol):
    """The thread `store-writer`."""

    def append(self, batch: Batch) -> Future[Committed]: ...


class Readers(Protocol):
    """The threads `store-reader-N`."""

    def read(self, fn: Callable[[Any], T]) -> T:
        """Runs `fn(connection)` in one read transaction; blocks."""
        ...


class NoModelsYet(Exception):
    """The provider's list needs its first fetch; the same request is right after it."""


class Models(settings.Models, Protocol):
    """Who answers, and whether their list of models is there yet."""

    def active(self) -> Active: ...

    def needs_list(self, model: str | None) -> bool:
        """Whether a prompt for this model must wait until the list of models is there."""
        ...


class Tools(Protocol):
    """The registry of tools."""

    def definitions(self) -> Sequence[ToolDefinition]: ...

    def get(self, name: str) -> Tool | None: ...


class Shell(HiddenShell, Protocol):
    """One hidden shell: what tools use of it, and what a turn and a typed answer need."""

    @property
    def busy(self) -> bool:
        """Whether a command runs in it, also one that its call left running."""
        ...

    @property
    def command(self) -> BusyCommand | None:
        """The command that holds it."""
        ...

    def check_stop(self, call_id: str, close: bool) -> None:
        """Raises NoSuchCall or CommandRuns when the stop is not for this call."""
        ...

    def interrupt(self, call_id: str) -> None:
        """Stops the command that the call left running. Raises NoSuchCall, CommandRuns."""
        ...

    def hang_up(self) -> None:
        """Asks the shell to end; does not wait."""
        ...

    def answer(self, call_id: str, text: str, hidden: bool, manual: bool) -> None:
        """Types a line into the call's command. Raises NoSuchCall, NotWaiting, BadAnswer."""
        ...


class Shells(Protocol):
    """The hidden shells."""

    def for_conversation(self, conversation_id: str, start_dir: str, scratch: str | None) -> Shell:
        """The conversation's shell, started when there is none; blocks while it starts."""
        ...

    def peek(self, conversation_id: str) -> Shell | None: ...

    def start_of_next(self, conversation_id: str, start_dir: str) -> str: ...


class Caller(Struct, frozen=True):
    """Who sent a request."""

    connection_id: int
    origin: t.Origin
    tty: str | None
    remote: bool


class Ports(Struct, frozen=True):
    """Everything from outside, in one place."""

    clock: Clock
    ids: Ids
    roots: Roots
    host: Host
    settings: Callable[[], Settings]  # the config of now
    writer: Writer
    readers: Readers
    workers: Workers
    timer: Timers
    models: Models
    tools: Tools
    shells: Shells
    shell_start: Callable[[int], ShellStart | None]  # of a live process; None: it is gone
    places: Places
    # The process that a shell's terminal was opened with: that shell, or one around it.
    first_shell: Callable[[int, str], int] = lambda pid, tty: pid
    mode_limits: Callable[[], ModeLimits] = lambda: NO_SANDBOX
    snapshots: Snapshots | None = None  # None: no turn knows which files it changed
