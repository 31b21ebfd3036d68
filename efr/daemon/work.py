"""What goes on in a conversation and how a delete stops it: the agent, its jobs, its shell.

Only what the agent offers to clients is used: it interrupts and withdraws as a client would, and
waits for the ends that the feed tells of.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Final, Protocol

from efr.agent.agent import Agent
from efr.agent.ports import Caller, Readers
from efr.base.clock import Clock
from efr.base.ids import Ids
from efr.shell.shells import Shells
from efr.store import queries
from efr.store.feed import Feed, Published
from efr.store.rows import ConversationRow
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import Refusal

STOP_S: Final = 10.0  # for a turn to end; then its events are refused and its shell is closed

_ENDS: Final = frozenset(
    {"turn_completed", "turn_failed", "turn_interrupted", "turn_cancelled", "prompt_withdrawn"}
)


class Jobs(Protocol):
    """The background jobs."""

    def stop_all(self, conversation_id: str) -> int:
        """Stops those of a conversation and waits for their ends; returns how many there were."""
        ...


class Undos(Protocol):
    """The undos of turns."""

    def runs(self, conversation_id: str) -> bool:
        """Whether one writes files now."""
        ...


class NoJobs:
    """A daemon without background jobs."""

    def stop_all(self, conversation_id: str) -> int:
        return 0


class NoUndos:
    """A daemon without undo."""

    def runs(self, conversation_id: str) -> bool:
        return False


class ConversationWork:
    """`efr.daemon.deleting.Work`. Any thread."""

    def __init__(
        self,
        agent: Agent,
        shells: Shells,
        readers: Readers,
        feed: Feed,
        clock: Clock,
        ids: Ids,
        jobs: Jobs,
        undos: Undos,
    ) -> None:
        self._agent = agent
        self._shells = shells
        self._readers = readers
        self._feed = feed
        self._clock = clock
        self._ids = ids
        self._jobs = jobs
        self._undos = undos

    def runs(self, conversation_id: str) -> bool:
        """A turn or a compaction runs, or a prompt waits."""
        return self._agent.runs(conversation_id)

    def undo_runs(self, conversation_id: str) -> bool:
        """An undo writes files."""
        return self._undos.runs(conversation_id)

    def is_held(self, row: ConversationRow) -> bool:
        """The terminal of its slot is open."""
        return self._agent.is_held(row)

    def stop(self, conversation_id: str, caller: Caller) -> int:
        """Ends everything in it. Blocks."""
        self._agent.stop_compaction(conversation_id, STOP_S)
        self._stop_turn(conversation_id, caller)
        stopped = self._jobs.stop_all(conversation_id)
        self._shells.close(conversation_id)
        return stopped

    def _stop_turn(self, conversation_id: str, caller: Caller) -> None:
        """Interrupts again while prompts still come, for at most STOP_S."""
        ended = Event()

        def published(events: Sequence[Published]) -> None:
            if any(e.conversation_id == conversation_id and e.kind in _ENDS for e in events):
                ended.set()

        forget = self._feed.listen(published)
        ends = self._clock.monotonic() + STOP_S
        try:
            while self._agent.runs(conversation_id) and self._clock.monotonic() < ends:
                ended.clear()
                self._interrupt(conversation_id, caller)
                if self._agent.runs(conversation_id):
                    ended.wait(max(0.0, ends - self._clock.monotonic()))
        finally:
            forget()

    def _interrupt(self, conversation_id: str, caller: Caller) -> None:
        """The running turn and every waiting prompt. A refusal means that it ended by itself."""
        turns = self._readers.read(lambda conn: queries.turns(conn, conversation_id))
        waiting = tuple(one.id for one in turns if one.status == "queued")
        interrupt = m.TurnInterruptParams(
            command_id=self._ids.new(), conversation_id=conversation_id, withdraw=waiting
        )
        try:
            self._agent.turn_interrupt(interrupt, caller)
        except Refusal:
            for turn_id in waiting:
                self._withdraw(conversation_id, turn_id, caller)

    def _withdraw(self, conversation_id: str, turn_id: str, caller: Caller) -> None:
        withdraw = m.PromptWithdrawParams(
            command_id=self._ids.new(),
            conversation_id=conversation_id,
            target=t.WithdrawTurn(turn_id=turn_id),
        )
        try:
            self._agent.prompt_withdraw(withdraw, caller)
        except Refusal:
            return  # it started, or it is gone

    def forget(self, row: ConversationRow) -> None:
        """The terminal that had it starts anew."""
        self._agent.deleted(row)
