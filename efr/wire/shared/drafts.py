"""What a running turn got from the model before the log has it (protocol: drafts and live)."""

from __future__ import annotations

from typing import TypeAlias

from efr.wire.scalars import U32, U64, Seq, Tagged, TurnId, Wire
from efr.wire.shared.tokens import CompactionTrigger, ContextUse


class DraftText(Tagged, frozen=True, tag="text"):
    """Text added to a message; `offset` counts bytes of UTF-8."""

    index: U32
    offset: U64
    delta: str


class DraftReasoning(Tagged, frozen=True, tag="reasoning"):
    """Reasoning added; `offset` counts bytes in the reasoning of the whole turn."""

    offset: U64
    delta: str
    title: str | None = None


class DraftToolInput(Tagged, frozen=True, tag="tool_input"):
    """The input of a tool call grows."""

    call: U32  # position in this answer, from 0
    tool: str
    bytes: U64


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
    after_seq: Seq
    index: U32  # the current message
    text: str
    text_bytes: U64  # the offset at which drafts go on
    reasoning: str | None = None  # of the turn so far
    reasoning_title: str | None = None
