"""Events of the model's messages (protocol: messages and tool calls)."""

from efr.wire.event.base import OfTurn
from efr.wire.scalars import U32, U64


class AssistantMessageUpdated(OfTurn, frozen=True):
    """A message grew; the one event that holds a difference and not a state."""

    index: U32  # counts the turn's messages that have text
    offset: U64  # bytes of UTF-8 before `delta`
    delta: str  # the text added since the last update


class AssistantMessageCompleted(OfTurn, frozen=True):
    """A message is whole."""

    index: U32  # as in assistant_message_updated
    text: str
