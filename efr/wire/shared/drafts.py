"""What a running turn got from the model before the log has it (protocol: drafts and live)."""

from typing import TypeAlias

from efr.wire.scalars import U32, U64, Seq, Tagged, TurnId, Wire
from efr.wire.shared.tokens import CompactionTrigger, ContextUse


class DraftText(Tagged, frozen=True, tag="text"):
    """Text added to a message; `offset` counts bytes of UTF-8."""

    index: U32  # as in assistant_message_updated
    offset: U64  # bytes of UTF-8 before `delta`
    delta: str


class DraftReasoning(Tagged, frozen=True, tag="reasoning"):
    """Reasoning added; `offset` counts bytes in the reasoning of the whole turn."""

    offset: U64  # bytes of UTF-8 in the reasoning of the whole turn
    delta: str
    title: str | None = None


class DraftToolInput(Tagged, frozen=True, tag="tool_input"):
    """The input of a tool call grows."""

    call: U32  # position in this answer, from 0
    tool: str
    bytes: U64  # of the input so far


class DraftContext(ContextUse, frozen=True, tag_field="kind", tag="context"):
    """How full the context is, around a model call."""


class DraftCompacting(Tagged, frozen=True, tag="compacting"):
    """A compaction started."""

    trigger: CompactionTrigger


DraftPart: TypeAlias = DraftText | DraftReasoning | DraftToolInput | DraftContext | DraftCompacting


class Draft(Wire, frozen=True):
    """One draft; it has no number and is not stored."""

    turn_id: TurnId
    after_seq: Seq  # the newest event of the turn at that time
    draft: DraftPart


class Live(Wire, frozen=True):
    """The running model call in a snapshot."""

    turn_id: TurnId
    after_seq: Seq  # as in a draft
    index: U32  # the current message
    text: str  # so far
    text_bytes: U64  # UTF-8 bytes of `text`; drafts go on at this offset
    reasoning: str | None = None  # of the turn so far
    reasoning_title: str | None = None  # the newest one
