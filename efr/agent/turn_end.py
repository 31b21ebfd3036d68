"""How a turn ended, as the batch that records it.

Pure. Whatever ended the turn, the batch closes what is still open: a question expires, a call
gets a result, then comes the terminal event with the counts, and the exact messages are saved.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from efr.agent.accounting import estimate
from efr.agent.queue import Running, Steer
from efr.agent.rebuild import UNFINISHED, user_text
from efr.providers.canonical import Message, encode_message
from efr.store.batch import Batch, NewEvent, TurnMessage
from efr.wire import events as ev
from efr.wire.errors import ErrorBody, ErrorCode, WireError

log = logging.getLogger("efr.agent")


End = ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted


class TurnEnd(Struct, frozen=True):
    """Everything about an end; `batch` makes it recordable."""

    running: Running
    event: End
    open_questions: tuple[str, ...] = ()
    open_calls: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    provider: str = ""
    model: str = ""
    notice: str | None = None  # what a terminal that does not look is told

    def batch(self, conversation_id: str, unread: Iterable[Steer]) -> Batch:
        """The batch. Steers that no call read stand at the end of the saved messages: the next
        turn's model reads them, so none is lost."""
        turn_id = self.running.turn_id
        events: list[ev.Event] = [
            ev.ApprovalExpired(turn_id=turn_id, call_id=call_id) for call_id in self.open_questions
        ]
        events += [_unfinished(turn_id, call_id) for call_id in self.open_calls]
        left = [user_text(one.text) for one in unread]
        events.append(self._event(left))
        messages = [*self.messages, *left]
        saved = (
            saved_messages(turn_id, self.provider, self.model, messages) if self.messages else ()
        )
        return Batch(
            events=tuple(NewEvent(conversation_id, event) for event in events),
            messages=saved,
            messages_conversation=conversation_id if saved else None,
        )

    def _event(self, left: Sequence[Message]) -> End:
        """The end; how full the context is counts what the next turn's model reads."""
        use = self.event.context
        if not left or use is None:
            return self.event
        return replace(self.event, context=replace(use, tokens=use.tokens + estimate(left)))


def saved_messages(
    turn_id: str, provider: str, model: str, messages: Sequence[Message]
) -> tuple[TurnMessage, ...]:
    """The exact messages; none when one cannot be encoded: the turn is rebuilt later."""
    try:
        return tuple(
            TurnMessage(turn_id, place, provider, model, encode_message(message))
            for place, message in enumerate(messages)
        )
    except (WireError, TypeError, ValueError):
        log.exception("the messages of a turn cannot be saved")
        return ()


def without_question(batch: Batch, call_id: str) -> Batch:
    """The batch without the expiry of a question that was answered after all."""
    kept = tuple(
        one
        for one in batch.events
        if not (isinstance(one.event, ev.ApprovalExpired) and one.event.call_id == call_id)
    )
    return Batch(kept, batch.receipt, batch.messages, batch.messages_conversation, batch.outbox)


def without_words(batch: Batch) -> Batch:
    """The batch with a plain failure as its end: what a provider said cannot be written down."""
    last = batch.events[-1]
    turn_id = ev.turn_of(last.event)
    assert turn_id is not None  # the last event of an end is the turn's own
    error = ErrorBody(ErrorCode.INTERNAL, "the end of the turn could not be written down")
    end = NewEvent(last.conversation_id, ev.TurnFailed(turn_id=turn_id, error=error))
    return Batch((*batch.events[:-1], end))


def _unfinished(turn_id: str, call_id: str) -> ev.ToolCallCompleted:
    return ev.ToolCallCompleted(
        turn_id=turn_id, call_id=call_id, output=UNFINISHED, truncated=False, is_error=True
    )
