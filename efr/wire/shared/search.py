"""Results of a search (protocol: search). Ranges count Unicode code points."""

from enum import StrEnum

from efr.wire.scalars import U32, U64, Cursor, Seq, Time, TurnId, Wire
from efr.wire.shared.conversations import RecentRow


class SearchKind(StrEnum):
    """What a hit stands in. Open."""

    TITLE = "title"  # the conversation's title
    PROMPT = "prompt"  # a prompt or a steer
    ANSWER = "answer"  # an assistant message
    COMMAND = "command"  # a command that ran
    UNKNOWN = "unknown"


class SearchPartial(StrEnum):
    """Why a search stopped early. Open."""

    ROW_CAP = "row_cap"  # it read enough rows
    TIME_CAP = "time_cap"  # it took too long
    UNKNOWN = "unknown"


class Range(Wire, frozen=True):
    """Half open, in code points."""

    start: U32
    end: U32


class SearchLine(Wire, frozen=True):
    """A line of a hit with what matched."""

    text: str
    ranges: tuple[Range, ...] = ()


class SearchHit(Wire, frozen=True, kw_only=True):
    """One hit in a conversation."""

    kind: SearchKind
    seq: Seq  # the event of the hit
    turn_id: TurnId | None = None  # absent outside a turn
    at: Time
    history_cursor: Cursor  # for conversation.history, to page to the hit
    lines: tuple[SearchLine, ...]


class SearchIndex(Wire, frozen=True):
    """How far the index is built."""

    percent: U32  # 0 to 100


class SearchStats(Wire, frozen=True):
    """What a search cost."""

    rows_scanned: U64
    conversations_scored: U64
    titles_scored: U64
    elapsed_us: U64


class SearchRow(Wire, frozen=True):
    """A conversation that a search found."""

    conversation: RecentRow
    short_id: str  # the shortest start of the id that names it alone, at least 8 characters
    title_ranges: tuple[Range, ...] = ()  # what matched in the title
    hit: SearchHit | None = None
