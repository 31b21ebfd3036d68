"""Appends to the store, from a conversation's point of view.

`Commits.append` blocks until the batch is on disk. A `TurnLog` is the log of one running turn: it
remembers what is open (a call, a question), so the end of the turn can always close it, and tells
the drafts which event they come after. Everything it records belongs to that turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from efr.agent.drafts import Channel
from efr.agent.ports import Writer
from efr.store.batch import Batch, Committed, NewEvent, TurnMessage
from efr.store.errors import StoreClosed
from efr.wire import events as ev

# Longer than the store waits for a stranger's lock (5 s) with a full queue before it. A writer
# that is silent for so long is dead, and the daemon goes down with it.
_COMMIT_S = 60.0


def committed(reply: Future[Committed]) -> Committed:
    """Blocks for a reply of the writer. Raises StoreError."""
    try:
        return reply.result(timeout=_COMMIT_S)
    except TimeoutError as exc:
        raise StoreClosed("the store did not answer") from exc


class Commits:
    """The way to the writer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def append(self, batch: Batch) -> Committed:
        """Blocks until it is on disk. Raises StoreError; then nothing of it is there."""
        return committed(self._writer.append(batch))

    def later(self, batch: Batch) -> Future[Committed]:
        """Queues it and returns; the reply tells when it is on disk."""
        return self._writer.append(batch)


class TurnLog:
    """What one running turn records. The worker's thread."""

    def __init__(
        self, commits: Commits, channel: Channel, conversation_id: str, turn_id: str
    ) -> None:
        self._commits = commits
        self._channel = channel
        self.conversation_id = conversation_id
        self.turn_id = turn_id
        self.open_calls: list[str] = []
        self.open_questions: list[str] = []

    def record(self, *events: ev.Event, messages: Sequence[TurnMessage] = ()) -> Committed:
        """Appends events of this turn in one batch, and its exact messages so far. Raises
        StoreError."""
        batch = Batch(
            events=tuple(NewEvent(self.conversation_id, event) for event in events),
            messages=tuple(messages),
            messages_conversation=self.conversation_id if messages else None,
        )
        done = self._commits.append(batch)
        self._channel.recorded(done.last_seq)
        for event in events:
            self._note(event)
        return done

    def _note(self, event: ev.Event) -> None:
        match event:
            case ev.ToolCallStarted(call_id=call_id):
                self.open_calls.append(call_id)
            case ev.ToolCallCompleted(call_id=call_id):
                if call_id in self.open_calls:
                    self.open_calls.remove(call_id)
            case ev.ApprovalRequested(call_id=call_id):
                self.open_questions.append(call_id)
            case ev.ApprovalExpired(call_id=call_id):
                self.answered(call_id)
            case _:
                pass

    def answered(self, call_id: str) -> None:
        """The question is answered; the answer was recorded by who gave it."""
        if call_id in self.open_questions:
            self.open_questions.remove(call_id)
