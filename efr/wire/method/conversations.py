"""Methods that read conversations (protocol: methods 2 to 10)."""

from typing import TypeAlias

from efr.wire.event.envelope import EventEnvelope
from efr.wire.scalars import U32, ConversationId, Cursor, Params, Path, Tagged, TurnId, Wire
from efr.wire.shared.compaction import (
    ContextCache,
    ContextCompaction,
    ContextCount,
    ContextEstimate,
    ContextItem,
    ContextLimits,
)
from efr.wire.shared.conversations import ConversationSummary, RecentRow
from efr.wire.shared.files import FileChanges
from efr.wire.shared.scopes import Place
from efr.wire.shared.search import SearchHit, SearchIndex, SearchPartial, SearchRow, SearchStats


class ConversationsListParams(Params, frozen=True):
    """List all conversations, or those of one terminal."""

    cursor: Cursor | None = None  # absent: the first page
    limit: U32 | None = None  # 50 when absent, at most 200
    tty: str | None = None  # only that terminal's, its current one first, in one page


class ConversationsListResult(Wire, frozen=True):
    """One page, the most recently updated first."""

    conversations: tuple[ConversationSummary, ...]
    next_cursor: Cursor | None = None  # absent on the last page


class ConversationsRecentParams(Params, frozen=True):
    """List recent conversations, those of the scope of a directory first."""

    tty: str | None = None  # the asking terminal
    pwd: Path | None = None  # its directory
    limit: U32 | None = None  # 20 when absent, at most 200


class ConversationsRecentResult(Wire, frozen=True, kw_only=True):
    """Those of the scope of `pwd` first; each part newest first."""

    scope: Place | None = None  # of `pwd`
    current: ConversationId | None = None  # what the terminal holds; absent without one
    conversations: tuple[RecentRow, ...]


class ConversationsSearchParams(Params, frozen=True):
    """Search all conversations; an empty query gives the recent list."""

    query: str  # at most 256 characters, 16 words and phrases
    tty: str | None = None  # as in conversations.recent
    pwd: Path | None = None  # as in conversations.recent
    limit: U32 | None = None  # 50 when absent, at most 200
    stats: bool = False  # asks for `stats`


class ConversationsSearchResult(Wire, frozen=True):
    """The conversations that match, best first."""

    rows: tuple[SearchRow, ...]
    scope: Place | None = None  # of `pwd`; absent without one
    current: ConversationId | None = None  # what the terminal holds; absent without one
    partial: SearchPartial | None = None  # why the search stopped early
    index: SearchIndex | None = None  # only while the index is being built
    stats: SearchStats | None = None  # only when asked for


class ConversationsWatchParams(Params, frozen=True):
    """Follow the recent list while it changes."""

    limit: U32 | None = None  # 20 when absent, at most 50


class WatchSnapshot(Tagged, frozen=True, tag="snapshot"):
    """The first item: the list as it is."""

    conversations: tuple[RecentRow, ...]


class WatchChanged(Tagged, frozen=True, tag="changed"):
    """A row is new or differs."""

    conversation: RecentRow


class WatchRemoved(Tagged, frozen=True, tag="removed"):
    """A conversation was deleted."""

    conversation_id: ConversationId


ConversationsWatchItem: TypeAlias = WatchSnapshot | WatchChanged | WatchRemoved


class ConversationHistoryParams(Params, frozen=True):
    """Page back through the events of a conversation."""

    conversation_id: ConversationId
    cursor: Cursor | None = None  # absent: the newest page
    limit: U32 | None = None  # 100 when absent, at most 500


class ConversationHistoryResult(Wire, frozen=True):
    """One page, oldest first."""

    events: tuple[EventEnvelope, ...]
    next_cursor: Cursor | None = None  # for older ones; absent at the beginning


class ConversationSearchParams(Params, frozen=True):
    """Search one conversation."""

    conversation_id: ConversationId
    query: str  # as in conversations.search
    limit: U32 | None = None  # 20 when absent, at most 50


class ConversationSearchResult(Wire, frozen=True):
    """The hits, newest first."""

    hits: tuple[SearchHit, ...]
    title: str | None = None  # of the conversation
    partial: SearchPartial | None = None  # why the search stopped early


class ConversationContextParams(Params, frozen=True):
    """Tell what fills the model's context of a conversation."""

    conversation_id: ConversationId
    model: str | None = None  # count for this model


class ConversationContextResult(Wire, frozen=True, kw_only=True):
    """Sizes, counts and labels; never the text of a message."""

    model: str
    limits: ContextLimits
    counted: ContextCount | None = None  # absent without one since the newest compaction
    estimate: ContextEstimate  # of the next request
    largest: tuple[ContextItem, ...] = ()  # at most 5
    compactions: tuple[ContextCompaction, ...] = ()  # oldest first
    cache: ContextCache


class ConversationDiffParams(Params, frozen=True):
    """Show what a turn changed in files."""

    conversation_id: ConversationId | None = None  # absent: that of `turn_id`, else the terminal's
    turn_id: TurnId | None = None  # absent: the newest that ran to an end
    stat: bool = False  # the list only


class ConversationDiffResult(Wire, frozen=True):
    """The changes of one turn."""

    turn_id: TurnId
    changes: FileChanges  # empty for a turn without snapshots
    diff: str | None = None  # unified, at most 20,000 lines; absent with `stat`
