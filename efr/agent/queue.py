"""What waits in a conversation and what runs: the owner's state.

Small values and one `State` object behind the lock "conversation". Every change happens inside
the conversation's gate; the lock is for those who only look. No I/O here.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future

from msgspec import Struct, field

from efr.agent.preamble import UserLines
from efr.base.cancel import Cancel
from efr.wire import methods as m
from efr.wire import types as t


class Prompt(Struct, frozen=True):
    """A prompt that waits or runs. `lines` live here alone until the preamble is built."""

    turn_id: str
    command_id: str
    text: str
    origin: t.Origin
    remote: bool
    context: t.ShellContext | None
    settings: t.TurnSettings
    lines: UserLines = field(default_factory=UserLines)
    steers: tuple[int, ...] = ()
    resent: bool = False  # unread steers of an interrupted turn: they run next, whatever waits
    shell_dir: str | None = None  # where a new hidden shell starts; None: where the user is

    @property
    def tty(self) -> str | None:
        return self.context.tty if self.context is not None else None


class Steer(Struct, frozen=True):
    """A text for the running turn that no model call has read yet."""

    seq: int
    text: str


class Running(Struct, eq=False):
    """The turn that runs."""

    prompt: Prompt
    cancel: Cancel = field(default_factory=Cancel)
    unread: list[Steer] = field(default_factory=list)
    steering_closed: bool = False
    interrupted: bool = False
    call_id: str | None = None  # the tool call that runs now
    mode: t.Mode | None = None  # what the turn runs with; None: it has not set out

    @property
    def turn_id(self) -> str:
        return self.prompt.turn_id

    @property
    def takes_steers(self) -> bool:
        return not self.steering_closed and not self.interrupted


class Compaction(Struct, eq=False):
    """A compaction that the user asked for; it waits for the worker or runs there."""

    command_id: str
    focus: str | None
    cancel: Cancel = field(default_factory=Cancel)
    reply: Future[m.ConversationCompactResult] = field(default_factory=Future)
    started: bool = False


class State:
    """The queue, the running turn or compaction, and whether a worker looks after them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()  # "conversation"
        self.running: Running | None = None
        self.compaction: Compaction | None = None
        self.working = False  # a worker thread exists and will look at the queue again
        self.stopping = False
        self.gone = False  # its creation failed, or it was deleted
        self._queue: deque[Prompt] = deque()

    def snapshot(self) -> tuple[Running | None, int]:
        """The running turn and how many prompts wait under the queue's limit."""
        with self.lock:
            return self.running, sum(not one.resent for one in self._queue)

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        with self.lock:
            return self.running is None and self.compaction is None and not self._queue

    @property
    def rests(self) -> bool:
        """Nothing runs or waits, and no worker looks."""
        return self.idle and not self.working

    def add(self, prompt: Prompt) -> bool:
        """Queues a prompt (a resent one first). True: a worker must be started."""
        with self.lock:
            if prompt.resent:
                self._queue.appendleft(prompt)
            else:
                self._queue.append(prompt)
            start = not self.working
            self.working = True
            return start

    def begin(self, compaction: Compaction) -> bool:
        """A compaction comes before what waits. True: a worker must be started."""
        with self.lock:
            self.compaction = compaction
            if self.stopping:  # the stop came just before it and did not see it
                compaction.cancel.cancel()
            start = not self.working
            self.working = True
            return start

    def next(self, *, may_start: bool) -> Running | Compaction | None:
        """Starts the compaction or the next prompt; None: there is none (or it may not), and the
        worker ends."""
        with self.lock:
            if self.compaction is not None and not self.compaction.started:
                self.compaction.started = True
                return self.compaction
            if self.stopping or self.gone or not may_start or not self._queue:
                self.working = False
                return None
            self.running = Running(self._queue.popleft())
            return self.running

    def waiting(self, turn_ids: Iterable[str]) -> list[Prompt]:
        """Those of the turns that still wait, in queue order."""
        wanted = set(turn_ids)
        with self.lock:
            return [one for one in self._queue if one.turn_id in wanted]

    def newest_of(self, tty: str) -> Prompt | None:
        """The newest waiting prompt of a terminal."""
        with self.lock:
            return next((one for one in reversed(self._queue) if one.tty == tty), None)

    def withdraw(self, prompts: Iterable[Prompt]) -> None:
        """They wait no more."""
        gone = {one.turn_id for one in prompts}
        with self.lock:
            self._queue = deque(one for one in self._queue if one.turn_id not in gone)
