"""Methods that read conversations (protocol: methods 2 to 10)."""

from __future__ import annotations

from typing import TypeAlias

from efr.wire.event.envelope import EventEnvelope
from efr.wire.scalars import (
    U32,
    ConversationId,
    Cursor,
    Params,
    Path,
    Seq,
    Tagged,
    TurnId,
    Wire,
)
from efr.wire.shared.conversations import ConversationSummary, RecentRow
from efr.wire.shared.drafts import Draft, Live
from efr.wire.shared.files import FileChanges
from efr.wire.shared.scopes import Place
from efr.wire.shared.search import (
    SearchHit,
    SearchIndex,
    SearchPartial,
    SearchRow,
    SearchStats,
)
from efr.wire.shared.tokens import (
    ContextCache,
    ContextCompaction,
    ContextCount,
    ContextEstimate,
    ContextItem,
    ContextLimits,
)


class ConversationsListParams(Params, frozen=True):
    """A page of all conversations, or those of one terminal."""

    cursor: Cursor | None = None  # absent: the first page
    limit: U32 | None = None
    tty: str | None = None


class ConversationsListResult(Wire, frozen=True):
    """The most recently updated first."""

    conversations: tuple[ConversationSummary, ...]
    next_cursor: Cursor | None = None  # absent on the last page


class ConversationsRecentParams(Params, frozen=True):
    """The recent list of a terminal in a directory."""

    tty: str | None = None
    pwd: Path | None = None
    limit: U32 | None = None


class ConversationsRecentResult(Wire, frozen=True, kw_only=True):
    """Those of the scope of `pwd` first; each part newest first."""

    scope: Place | None = None  # of `pwd`
    current: ConversationId | None = None  # what the terminal holds
    conversations: tuple[RecentRow, ...]


class ConversationsSearchParams(Params, frozen=True):
    """A search over all conversations; an empty query is the recent list."""

    query: str
    tty: str | None = None
    pwd: Path | None = None
    limit: U32 | None = None
    stats: bool = False


class ConversationsSearchResult(Wire, frozen=True):
    """The best first."""

    rows: tuple[SearchRow, ...]
    scope: Place | None = None
    current: ConversationId | None = None
    partial: SearchPartial | None = None
    index: SearchIndex | None = None  # while it is being built
    stats: SearchStats | None = None


class ConversationsWatchParams(Params, frozen=True):
    """Follow the recent list."""

    limit: U32 | None = None


class WatchSnapshot(Tagged, frozen=True, tag="snapshot"):
    """The first item."""

    conversations: tuple[RecentRow, ...]


class WatchChanged(Tagged, frozen=True, tag="changed"):
    """A row is new or differs."""

    conversation: RecentRow


class WatchRemoved(Tagged, frozen=True, tag="removed"):
    """A conversation was deleted."""

    conversation_id: ConversationId


ConversationsWatchItem: TypeAlias = WatchSnapshot | WatchChanged | WatchRemoved


class ConversationSubscribeParams(Params, frozen=True):
    """Follow a conversation."""

    conversation_id: ConversationId
    after_seq: Seq | None = None  # the largest number the client has
    answers_input: bool = False  # a person at this client can answer a command that waits
    drafts: bool = False


class SubscribeEvent(EventEnvelope, frozen=True, tag_field="kind", tag="event"):
    """One event."""


class SubscribeSnapshot(Tagged, frozen=True, kw_only=True, tag="snapshot"):
    """Where a subscription starts that cannot go on where the client was."""

    conversation: ConversationSummary
    events: tuple[EventEnvelope, ...]  # the newest, oldest first
    history_cursor: Cursor | None = None  # absent when `events` has the first one
    hwm: Seq  # the newest number of the whole log
    live: Live | None = None


class SubscribeDraft(Draft, frozen=True, tag_field="kind", tag="draft"):
    """One draft."""


ConversationSubscribeItem: TypeAlias = SubscribeEvent | SubscribeSnapshot | SubscribeDraft


class ConversationHistoryParams(Params, frozen=True):
    """A page of a conversation's events."""

    conversation_id: ConversationId
    cursor: Cursor | None = None  # absent: the newest page
    limit: U32 | None = None


class ConversationHistoryResult(Wire, frozen=True):
    """Oldest first."""

    events: tuple[EventEnvelope, ...]
    next_cursor: Cursor | None = None  # for older ones; absent at the beginning


class ConversationSearchParams(Params, frozen=True):
    """A search in one conversation."""

    conversation_id: ConversationId
    query: str
    limit: U32 | None = None


class ConversationSearchResult(Wire, frozen=True):
    """The newest first."""

    hits: tuple[SearchHit, ...]
    title: str | None = None
    partial: SearchPartial | None = None


class ConversationContextParams(Params, frozen=True):
    """What fills the model's context."""

    conversation_id: ConversationId
    model: str | None = None  # count for this one


class ConversationContextResult(Wire, frozen=True, kw_only=True):
    """Sizes, counts and labels; never the text of a message."""

    model: str
    limits: ContextLimits
    counted: ContextCount | None = None
    estimate: ContextEstimate
    largest: tuple[ContextItem, ...] = ()  # at most 5
    compactions: tuple[ContextCompaction, ...] = ()  # oldest first
    cache: ContextCache


class ConversationDiffParams(Params, frozen=True):
    """What a turn changed."""

    conversation_id: ConversationId | None = None
    turn_id: TurnId | None = None  # absent: the newest that ran to an end
    stat: bool = False  # the list only


class ConversationDiffResult(Wire, frozen=True):
    """The changes of one turn."""

    turn_id: TurnId
    changes: FileChanges
    diff: str | None = None  # unified; absent with `stat`
