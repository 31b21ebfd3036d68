"""Events as the log stores them, and the envelope around a stored one. Pure; any thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from efr.wire.codec import decode_event_object, encode, read_json
from efr.wire.errors import BadValue
from efr.wire.event.base import UnknownEvent

if TYPE_CHECKING:
    from efr.wire.event.union import Event


def encode_event(event: Event) -> bytes:
    """The event object, as the log stores it."""
    return encode(event)


def decode_event(kind: str, payload: bytes) -> Event:
    """The event of a stored payload; an UnknownEvent for a kind this version does not know.

    Raises BadValue for a known kind whose body does not fit, and for a payload of another kind.
    """
    event: Event = decode_event_object(read_json(payload))
    if kind_of(event) != kind:
        raise BadValue("$.kind", f"not {kind}")
    return event


def kind_of(event: Event) -> str:
    """The event's kind."""
    if isinstance(event, UnknownEvent):
        return event.kind
    return str(event.__struct_config__.tag)


def turn_of(event: Event) -> str | None:
    """The turn that the event belongs to, or None. An unknown event belongs to none."""
    turn_id: str | None = getattr(event, "turn_id", None)
    return turn_id


def envelope_bytes(seq: int, conversation_id: str | None, at: str, event_payload: bytes) -> bytes:
    """The envelope around a stored event, whose bytes stay as they are.

    `conversation_id` and `at` are in canonical form, so they need no escaping.
    """
    of = "" if conversation_id is None else f'"conversation_id":"{conversation_id}",'
    return f'{{"seq":{seq},{of}"at":"{at}","event":'.encode() + event_payload + b"}"


def event_item_bytes(envelope: bytes) -> bytes:
    """The `event` item of a subscription from the bytes of its envelope."""
    return b'{"kind":"event",' + envelope[1:]
