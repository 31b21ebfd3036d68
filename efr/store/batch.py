"""What goes into one append and what comes back: plain frozen values.

A batch is all or nothing: its events, its receipt, its outbox rows and its turn messages commit
in one transaction. msgspec structs, because one is made for every event of every turn.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from efr.wire import events as ev


class NewEvent(Struct, frozen=True, gc=False):
    """An event to append; `conversation_id` is None for one of the daemon as a whole."""

    conversation_id: str | None
    event: ev.Event


class NewReceipt(Struct, frozen=True, gc=False):
    """The answer to keep for a command id. `result` is JSON: the result, or the error body.

    `seq_of` is the index, in the batch, of the event whose number the answer carries.
    """

    command_id: str
    method: str
    outcome: Literal["done", "refused"]
    result: bytes
    seq_of: int = -1


class TurnMessage(Struct, frozen=True, gc=False):
    """One exact message of a turn that ends in this batch. `message` is JSON."""

    turn_id: str
    position: int
    provider: str
    model: str
    message: bytes


class NewOutbox(Struct, frozen=True, gc=False):
    """A durable side effect. `payload` is JSON, with `conversation_id` when it belongs to one.

    `replay_safe`: it may be done a second time after a crash.
    """

    kind: str
    payload: bytes
    replay_safe: bool


class Batch(Struct, frozen=True):
    """All that one step changes. An empty batch writes nothing."""

    events: tuple[NewEvent, ...] = ()
    receipt: NewReceipt | None = None
    messages: tuple[TurnMessage, ...] = ()
    messages_conversation: str | None = None  # of `messages`; None: that of the first event
    outbox: tuple[NewOutbox, ...] = ()


class Committed(Struct, frozen=True, gc=False):
    """What a batch got. Without events the range is empty: `last_seq` is `first_seq` - 1."""

    first_seq: int
    last_seq: int
    at_us: int
    receipt_seq: int | None  # None: no receipt, or one without an event


class Receipt(Struct, frozen=True, gc=False):
    """A stored answer."""

    command_id: str
    method: str
    outcome: str
    result: bytes
    seq: int | None


class Entry(Struct, frozen=True):
    """An event with its number: what the projections and the feed are made from.

    `event` is None where nobody needs its members: a kind that no projection reads, or a payload
    that does not fit its kind any more.
    """

    seq: int
    conversation_id: str | None
    turn_id: str | None
    kind: str
    payload: bytes
    at_us: int
    event: ev.Event | None
