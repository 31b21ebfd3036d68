"""One compaction: old outputs give way to stubs, or earlier messages to a summary.

First the outputs that the model does not work with now are pruned; when that makes room enough,
nothing is asked of the model. Else it writes the summary, the fresh block is read, and the newest
messages stay as they are. The caller records the event and then applies the result, so nothing
changes before it is in the log. Blocks on the provider and the file system.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from efr.agent.accounting import Limits, estimate, estimate_request, usage_of
from efr.agent.context import Context, Head, Missing, Piece, gap_note, head_of, stubs
from efr.agent.frame import Frame
from efr.agent.rebuild import user_text
from efr.agent.summary import SummaryFailed, ask, read_summary
from efr.agent.tail import (
    Budget,
    Part,
    budget_of,
    fitting,
    freed_by,
    prune_end,
    shortest_tail,
    tail_start,
    tokens_of,
)
from efr.base.cancel import Cancel
from efr.providers.canonical import CallUsage, Message, Request
from efr.providers.errors import ContextOverflow
from efr.text.cut import cut_middle
from efr.wire import events as ev
from efr.wire import types as t

_MOST_SHARE = 1.5  # estimates are at most so much too large: code with many blanks
_LEAST_OUTPUT = 1000  # tokens that an answer needs at least to be a summary


class NothingToCompact(Exception):
    """Nothing lies before the newest messages."""


class Want(Struct, frozen=True):
    """Why a compaction starts. `share`: the estimate of the request over what the provider counts
    for it, so that sizes of the window can be compared with estimates."""

    trigger: t.CompactionTrigger
    tokens: int
    turn_id: str | None = None
    focus: str | None = None
    share: float = 1.0

    @property
    def refused(self) -> bool:
        """The provider refused a request of that size."""
        return self.trigger is t.CompactionTrigger.OVERFLOW


class Compacted(Struct, frozen=True):
    """What is to be recorded, and what the context is after it."""

    event: ev.ConversationCompacted
    start: int  # the pieces from here on stay; with a pruning, they stay as they are
    freed: int = 0  # tokens, by a pruning alone

    def apply(self, context: Context) -> None:
        """The event is recorded: the next request is made of what is left."""
        if self.event.summary is None:
            context.pruned(self.start)
        else:
            context.summarised(head_of(self.event), self.start)


class Compactor:
    """Makes one compaction of one context."""

    def __init__(
        self,
        frame: Frame,
        context: Context,
        stopped: Sequence[str],
        fresh: Callable[[Cancel], str],
        new_id: Callable[[], str],
    ) -> None:
        """`stopped`: the turns that did not end by themselves, in words for the summary."""
        self._frame = frame
        self._context = context
        self._stopped = stopped
        self._fresh = fresh
        self._new_id = new_id
        self._limits: Limits = frame.limits
        self._budget: Budget = budget_of(frame.limits, frame.resolved.model)

    def can(self, want: Want) -> bool:
        """Whether anything lies before the newest messages."""
        return self._start(want) > 0

    def run(self, want: Want, cancel: Cancel) -> Compacted:
        """Raises NothingToCompact, SummaryFailed, ProviderError, Cancelled."""
        start = self._start(want)
        if start == 0:
            raise NothingToCompact
        pruned = self._prune(want, self._context.pieces)
        if pruned is not None:
            return pruned
        part, text, usage = self._summarise(want, start, cancel)
        fresh, _ = cut_middle(self._fresh(cancel), self._limits.window)  # a quarter, in tokens
        return self._compacted(want, start, fresh, self._unseen(start, part), text, usage)

    def _start(self, want: Want) -> int:
        return tail_start(self._context.pieces, int(self._budget.tail * min(1.0, want.share)))

    # Pruning -------------------------------------------------------------------------------

    def _prune(self, want: Want, pieces: Sequence[Piece]) -> Compacted | None:
        """The pruning, when it is enough by itself."""
        end = prune_end(pieces, self._budget.keep)
        outputs, freed = freed_by(pieces, end)
        after = want.tokens - freed
        enough = freed >= self._budget.least and after < self._limits.trigger
        if want.trigger is not t.CompactionTrigger.AUTO or self._context.missing or not enough:
            return None
        event = replace(self._event(want, end, after), pruned_outputs=outputs, pruned_tokens=freed)
        return Compacted(event, end, freed)

    # The summary ---------------------------------------------------------------------------

    def _summarise(
        self, want: Want, start: int, cancel: Cancel
    ) -> tuple[Part, str, CallUsage | None]:
        room = min(self._limits.hard_cap, self._limits.window - self._budget.summary)
        target = min(self._limits.trigger, room)
        if want.refused:
            room = target = self._limits.trigger
        room, target = int(room * want.share), int(target * want.share)
        provider = self._frame.resolved.provider
        part, request = self._request(want, start, room, target)
        try:
            return part, *read_summary(provider, request, cancel)
        except ContextOverflow:
            smaller = self._below(self._size(request))
        part, request = self._request(want, start, smaller, smaller)
        return part, *read_summary(provider, request, cancel)

    def _below(self, refused: int) -> int:
        """The size to try after one of `refused` tokens was too large."""
        return min(self._limits.trigger, refused * self._limits.trigger // self._limits.window)

    def _request(self, want: Want, start: int, room: int, target: int) -> tuple[Part, Request]:
        """The side call: whole when it fits `room`, else pruned, else cut to `target`."""
        pieces = self._context.pieces
        whole = Part(0, len(pieces))
        request = self._side(want, start, pieces, whole)
        if self._size(request) <= room:
            return whole, request
        end = prune_end(pieces, self._budget.keep)
        pieces = [*stubs(pieces[:end]), *pieces[end:]]
        request = self._side(want, start, pieces, whole)
        if self._size(request) <= room:
            return whole, request
        rest = self._size(request) - tokens_of(pieces)
        # What is always there may leave no room below a refused size: then half of the rest goes.
        part = fitting(pieces, start, max(target - rest, 0)) or (
            fitting(pieces, start, tokens_of(pieces) // 2) if want.refused else None
        )
        if part is None:
            raise SummaryFailed("no part of the conversation fits into the model's window")
        return part, self._side(want, start, pieces, part)

    def _side(self, want: Want, start: int, pieces: Sequence[Piece], part: Part) -> Request:
        missing = self._unseen(start, part)
        before = self._context.before()
        left_out = None
        if missing.messages > self._context.missing.messages:
            before = [*self._context.head.messages(), user_text(gap_note(missing))]
        if missing:
            left_out = gap_note(missing)
        last = ask(want.focus, self._stopped, left_out, self._room_for_summary())
        shown = [piece.message for piece in pieces[part.first : part.last]]
        messages: list[Message] = [*before, *shown, last]
        size = self._frame.tokens + estimate(messages)
        output = max(_LEAST_OUTPUT, min(self._budget.output, self._limits.window - size))
        return self._frame.side_request(messages, output)

    def _room_for_summary(self) -> int:
        """Tokens of a summary that the model may write."""
        own, models = self._frame.settings.model, self._frame.resolved.model
        limits = (self._budget.summary, own.max_output_tokens, models.max_output_tokens)
        return min(one for one in limits if one is not None)

    def _size(self, request: Request) -> int:
        return self._frame.tokens + estimate(request.messages)

    def _unseen(self, start: int, part: Part) -> Missing:
        """What neither the summary reads nor the tail keeps."""
        pieces, missing = self._context.pieces, self._context.missing
        gone = pieces[: min(part.first, start)]
        seen = {piece.turn_id for piece in pieces[part.first :]} | {
            piece.turn_id for piece in pieces[start:]
        }
        turns = {piece.turn_id for piece in gone} - seen
        return Missing(missing.turns + len(turns), missing.messages + len(gone))

    # The record ----------------------------------------------------------------------------

    def _compacted(
        self,
        want: Want,
        start: int,
        fresh: str,
        unseen: Missing,
        text: str,
        usage: CallUsage | None,
    ) -> Compacted:
        head = Head(fresh, text, unseen)
        tail = self._context.pieces[start:]
        after = self._frame.tokens + estimate(head.messages()) + tokens_of(tail)
        event = replace(
            self._event(want, start, after),
            omitted_turns=unseen.turns,
            omitted_messages=unseen.messages,
            fresh=fresh,
            summary=text,
            usage=None if usage is None else usage_of(usage, usage),
        )
        return Compacted(event, start)

    def _event(self, want: Want, start: int, after: int) -> ev.ConversationCompacted:
        """What every compaction tells: `start` is the first piece that stays as it is."""
        pieces = self._context.pieces
        first = pieces[start]
        whole = first.place == 0
        return ev.ConversationCompacted(
            compaction_id=self._new_id(),
            turn_id=want.turn_id,
            trigger=want.trigger,
            focus=want.focus,
            model=self._frame.resolved.model.id,
            window=self._limits.window,
            limit=self._limits.limit,
            tokens_before=want.tokens,
            tokens_after=after,
            through_turn=pieces[start - 1].turn_id if whole else first.turn_id,
            through_message=None if whole else first.place,
            kept_turns=len({piece.turn_id for piece in pieces[start:]}),
        )


def share_of(request: Request, tokens: int) -> float:
    """The estimate of a request over what the provider counts for it."""
    return min(_MOST_SHARE, estimate_request(request) / max(1, tokens))


def room_for_results(frame: Frame, pieces: Sequence[Piece], share: float) -> int | None:
    """The tokens that the newest results may have at most; None: they fit.

    A compaction cannot take them out, so they must leave room for a summary and a fresh block.
    `share`: of the window, as the provider counts.
    """
    if not pieces or not pieces[-1].has_results:
        return None
    budget = budget_of(frame.limits, frame.resolved.model)
    others = tokens_of(pieces[shortest_tail(pieces) : -1])
    room = int(frame.limits.trigger * min(1.0, share)) - frame.tokens - 2 * budget.summary - others
    return room if pieces[-1].tokens > room else None
