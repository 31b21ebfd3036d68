"""Conversations in lists (protocol: conversation_summary and rows)."""

from enum import StrEnum

from efr.wire.scalars import U32, ConversationId, Path, Seq, Time, Wire
from efr.wire.shared.scopes import RouteScope, Scope


class ConversationStatus(StrEnum):
    """What a conversation does now."""

    IDLE = "idle"  # no turn runs or waits
    RUNNING = "running"  # a turn runs or waits
    AWAITING_APPROVAL = "awaiting_approval"  # a call waits for the user's answer


class ConversationSummary(Wire, frozen=True, kw_only=True):
    """A conversation as a list shows it."""

    id: ConversationId
    title: str | None = None  # from the first prompt until something better exists
    status: ConversationStatus
    created_at: Time
    updated_at: Time  # of its last activity: a look away and the end of an idle shell are none
    last_seq: Seq  # the event of that time
    cwd: Path | None = None  # at the last prompt
    scope: Scope | None = None  # of the last turn
    tty: str | None = None  # the terminal that holds it


class RecentRow(Wire, frozen=True, kw_only=True):
    """A row of the recent list, the watch and a search; its title shows no secret."""

    summary: ConversationSummary
    route: RouteScope | None = None  # absent when it never ran in a known scope
    project: str | None = None  # its name, while registered
    turns: U32  # of prompts only
    open_in: str | None = None  # another open terminal that holds it
    here: bool = False  # the asking terminal holds it
