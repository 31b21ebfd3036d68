"""Drafts that wait for one slow subscriber: merged per part, never lost, never in the way.

Pure: the subscription holds the lock and does the sending. There is room for 16 drafts; when it is
full they are merged: the text of one message joins, the reasoning of a turn joins, tool input,
context and compacting keep their newest. A draft of a part that a sent event already ended is
dropped (docs/protocol.md, "Subscriptions"). Offsets count bytes of UTF-8.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable

from msgspec import Struct, field

from efr.wire import types as t

ROOM = 16  # drafts kept one by one; a reader that keeps up never sees a merged one
SLICE_BYTES = 256 * 1024  # of one joined draft in one frame: far below the 16 MiB of a frame

_ENDS_A_MESSAGE = frozenset({"assistant_message_completed", "tool_call_started"})
_ENDS_A_TURN = frozenset({"turn_completed", "turn_failed", "turn_interrupted", "turn_cancelled"})


class _Waiting(Struct):
    """One part's drafts. Text and reasoning have pieces; the other parts are whole."""

    key: Hashable
    turn_id: str
    after_seq: int
    part: t.DraftPart
    offset: int = 0
    pieces: deque[str] = field(default_factory=deque)
    size_bytes: int = 0


class DraftRoom:
    """What waits, and what the last sent events ended."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._message_end = 0  # seq of the newest sent event that ends a message's parts
        self._turn_end = 0  # seq of the newest sent event that ends a turn

    def add(self, draft: t.Draft) -> None:
        """Takes a draft; merges when the room is full."""
        waiting = _waiting(draft)
        if self._is_over(waiting):
            return
        if len(self._waiting) >= ROOM:
            self._waiting = _merged(self._waiting)
        if len(self._waiting) >= ROOM:  # more parts than room: the calls of one answer
            self._waiting = _merged([*self._waiting, waiting])
        else:
            self._waiting.append(waiting)

    def event_sent(self, kind: str, seq: int) -> None:
        """An event went out: drafts from before it whose part it ends are dropped."""
        if kind in _ENDS_A_TURN:
            self._turn_end = self._message_end = seq
        elif kind in _ENDS_A_MESSAGE:
            self._message_end = seq
        else:
            return
        self._waiting = [waiting for waiting in self._waiting if not self._is_over(waiting)]

    def take(self, sent_seq: int) -> t.Draft | None:
        """The next draft whose events went out already (up to `sent_seq`), or None."""
        if not self._waiting or self._waiting[0].after_seq > sent_seq:
            return None
        first = self._waiting[0]
        draft = _next_slice(first)
        if not first.pieces:
            self._waiting.pop(0)
        return draft

    def _is_over(self, waiting: _Waiting) -> bool:
        """Reasoning outlives messages and calls and goes only with its turn."""
        reasoning = isinstance(waiting.part, t.DraftReasoning)
        return waiting.after_seq < (self._turn_end if reasoning else self._message_end)


def _waiting(draft: t.Draft) -> _Waiting:
    part = draft.draft
    if isinstance(part, t.DraftText | t.DraftReasoning):
        index = part.index if isinstance(part, t.DraftText) else None
        return _Waiting(
            (type(part), draft.turn_id, index),
            draft.turn_id,
            draft.after_seq,
            part,
            part.offset,
            deque([part.delta]),
            len(part.delta.encode()),
        )
    call = part.call if isinstance(part, t.DraftToolInput) else None
    return _Waiting((type(part), draft.turn_id, call), draft.turn_id, draft.after_seq, part)


def _merged(waiting: Iterable[_Waiting]) -> list[_Waiting]:
    """One entry per part, in the order in which the parts first came."""
    parts: dict[Hashable, _Waiting] = {}
    for later in waiting:
        first = parts.setdefault(later.key, later)
        if first is not later:
            _join(first, later)
    return list(parts.values())


def _join(first: _Waiting, later: _Waiting) -> None:
    if later.pieces and later.offset == first.offset + first.size_bytes:
        first.pieces += later.pieces
        first.size_bytes += later.size_bytes
    else:  # the newest counts; a text that does not go on where the last one ended began anew
        first.offset, first.pieces = later.offset, later.pieces
        first.size_bytes = later.size_bytes
    first.part = later.part
    first.after_seq = max(first.after_seq, later.after_seq)


def _next_slice(waiting: _Waiting) -> t.Draft:
    """Takes up to about SLICE_BYTES of pieces off `waiting` as a draft."""
    taken: list[str] = []
    size = 0
    while waiting.pieces and size < SLICE_BYTES:
        taken.append(waiting.pieces.popleft())
        size += len(taken[-1].encode())
    part, offset, delta = waiting.part, waiting.offset, "".join(taken)
    waiting.offset += size
    waiting.size_bytes -= size
    if isinstance(part, t.DraftText):
        part = t.DraftText(index=part.index, offset=offset, delta=delta)
    elif isinstance(part, t.DraftReasoning):
        part = t.DraftReasoning(offset=offset, delta=delta, title=part.title)
    return t.Draft(turn_id=waiting.turn_id, after_seq=waiting.after_seq, draft=part)
