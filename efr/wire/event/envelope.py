"""The envelope that an event travels in (protocol: event_envelope)."""

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from msgspec import Meta

from efr.wire.scalars import ConversationId, Seq, Time, Wire

if TYPE_CHECKING:
    from efr.wire.event.union import Event

    _Event: TypeAlias = Event
else:
    # The codec makes the event by its kind, so that no kind is loaded before it is met.
    _Event = Annotated[Any, Meta(extra={"form": "event"})]


class EventEnvelope(Wire, frozen=True, kw_only=True):
    """An event with its place in the log."""

    seq: Seq  # its place in the log of the whole daemon
    conversation_id: ConversationId | None = None  # absent for an event of the daemon as a whole
    at: Time  # when it was recorded
    event: _Event
