"""What the queries give back: one frozen value per kind of row."""

from __future__ import annotations

from msgspec import Struct

from efr.wire import types as t


class StoredEvent(Struct, frozen=True, gc=False):
    """An event of the log. `payload` is its JSON, as it goes on the wire."""

    seq: int
    conversation_id: str | None
    turn_id: str | None
    kind: str
    payload: bytes
    at_us: int


class ConversationRow(Struct, frozen=True):
    """A conversation as its events add up. Times are microseconds since 1970.

    `tty` and `route` name the slot it is in; `routed_seq` is None when no terminal ever held it,
    and `routed_at` is the time of that event: its terminal was there then.
    """

    id: str
    origin: str
    title: str | None
    status: t.ConversationStatus
    tty: str | None
    cwd: str | None
    scope: t.Scope | None
    route: t.RouteScope | None
    shell_pid: int | None
    routed_seq: int | None
    created_at: int
    updated_at: int
    last_seq: int
    routed_at: int | None = None


class TurnRow(Struct, frozen=True, gc=False):
    """A turn. status: queued, held, running, completed, failed, interrupted, cancelled, withdrawn.

    `wake`: a job notice started it; then it has no command id.
    """

    id: str
    conversation_id: str
    command_id: str | None
    prompt: str
    status: str
    queued_seq: int
    started_at: int | None
    ended_at: int | None
    last_seq: int
    wake: bool


class PendingQuestion(Struct, frozen=True, gc=False):
    """An open question. about: `call` (then `id` is the call's) or `surface`.

    `request` is the JSON of the event that asked.
    """

    id: str
    conversation_id: str
    turn_id: str
    call_id: str
    about: str
    requested_seq: int
    requested_at: int
    request: bytes


class StoredCompaction(Struct, frozen=True, gc=False):
    """A compaction; `compaction` is the JSON of the protocol's type."""

    seq: int
    has_summary: bool
    compaction: bytes
