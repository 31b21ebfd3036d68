"""What stands between a turn and its next model call: the request fits, or it is made to fit.

Before a call the context is compacted when it reached the trigger; a request above the hard cap is
never sent; a request that the provider refuses as too large is compacted and sent once more. After
two compactions in a row that did not help no third is tried. The worker's thread; blocks.
"""

from __future__ import annotations

import logging
from typing import Protocol

from efr.agent.accounting import Account
from efr.agent.compaction import (
    Compacted,
    Compactor,
    Want,
    room_for_results,
    share_of,
)
from efr.agent.context import Context
from efr.agent.failures import TurnFailure, context_full, window_too_small, words_too_long
from efr.agent.frame import Frame
from efr.agent.summary import SummaryFailed
from efr.agent.tail import cut_outputs, shortest_tail, tokens_of
from efr.base.cancel import Cancel
from efr.providers.canonical import Request
from efr.providers.errors import ContextOverflow, ProviderError
from efr.providers.failures import error_body
from efr.wire import types as t

log = logging.getLogger("efr.agent")

_MISSES = 2  # compactions in a row that did not help: a third would only cost


class Breaker:
    """How many compactions in a row did not help. Its conversation's, across turns."""

    def __init__(self) -> None:
        self._misses = 0
        self.no_summary: str | None = None  # why the newest of them gave none

    @property
    def is_open(self) -> bool:
        """No compaction starts by itself."""
        return self._misses >= _MISSES

    def missed(self, no_summary: str | None = None) -> None:
        self._misses += 1
        self.no_summary = no_summary

    def reset(self) -> None:
        """There is room again, or the user asked for a compaction."""
        self._misses, self.no_summary = 0, None


class Turn(Protocol):
    """Whose calls are guarded."""

    def begin_compaction(self, trigger: t.CompactionTrigger) -> None: ...

    def end_compaction(self, done: Compacted | None) -> None:
        """Records what there is to record. Raises StoreError."""
        ...


class Guard:
    """The guard of one turn's calls."""

    def __init__(
        self,
        frame: Frame,
        context: Context,
        account: Account,
        breaker: Breaker,
        compactor: Compactor,
        turn: Turn,
    ) -> None:
        self._frame = frame
        self._context = context
        self._account = account
        self._breaker = breaker
        self._compactor = compactor
        self._turn = turn

    def request(self, turn_id: str, cancel: Cancel) -> Request:
        """The next request. Raises TurnFailure when it cannot fit, Cancelled, StoreError."""
        limits = self._account.limits
        request, tokens = self._next()
        if self._is_full(tokens) and self._may_compact:
            share = share_of(request, tokens)
            self._fit_results(share)
            request, tokens = self._next()
            if self._is_full(tokens) and not self._only_tail:
                want = Want(t.CompactionTrigger.AUTO, tokens, turn_id, share=share)
                self._compact(want, cancel)
                request, tokens = self._next()
        elif not self._is_full(tokens):
            self._breaker.reset()
        if tokens > limits.hard_cap:
            raise self._full(tokens)
        return request

    def refused(self, exc: ContextOverflow, turn_id: str, cancel: Cancel) -> Request:
        """The request after one that the provider refused as too large.

        Raises TurnFailure when it cannot be made smaller, Cancelled, StoreError.
        """
        limits, tokens = self._account.limits, self._account.tokens
        if not self._may_compact:
            raise self._full(tokens, exc.message) from exc
        share = share_of(self._next()[0], max(tokens, limits.window))
        self._fit_results(share)
        want = Want(t.CompactionTrigger.OVERFLOW, tokens, turn_id, share=share)
        if not self._compact(want, cancel):
            raise self._full(tokens, exc.message) from exc
        request, left = self._next()
        if left > limits.hard_cap:
            raise self._full(left, exc.message) from exc
        return request

    def _full(self, tokens: int, told: str | None = None) -> TurnFailure:
        window, alone = self._account.limits.window, self._frame.tokens
        if alone > self._account.limits.hard_cap:
            return window_too_small(alone, window, self._frame.resolved.model.id)
        if self._only_words:
            return words_too_long(tokens, window)
        return context_full(
            tokens,
            window,
            only_new=self._only_tail,
            told=told,
            no_summary=self._breaker.no_summary,
        )

    @property
    def _may_compact(self) -> bool:
        return self._frame.settings.compaction.auto and not self._breaker.is_open

    def _is_full(self, tokens: int) -> bool:
        """While turns are left out of the request, that it is small says nothing."""
        limits = self._account.limits
        return tokens >= limits.trigger or tokens > limits.hard_cap or bool(self._context.missing)

    @property
    def _only_words(self) -> bool:
        """The newest words of the user are too large by themselves."""
        newest = self._context.pieces[-1:]
        said = bool(newest) and newest[0].is_said and not newest[0].has_results
        return said and self._frame.tokens + tokens_of(newest) > self._account.limits.hard_cap

    @property
    def _only_tail(self) -> bool:
        """What a compaction has to keep is too large by itself."""
        pieces = self._context.pieces
        least = self._frame.tokens + tokens_of(pieces[shortest_tail(pieces) :])
        return least > self._account.limits.hard_cap

    def _next(self) -> tuple[Request, int]:
        request = self._frame.request(self._context.messages())
        return request, self._account.before_call(request)

    def _fit_results(self, share: float) -> None:
        """Cuts the newest outputs when they alone fill the window: a compaction keeps them."""
        room = room_for_results(self._frame, self._context.pieces, share)
        if room is None or not self._context.own:
            return
        was = self._context.own[-1]
        now = cut_outputs(was, room)
        self._context.replace_last(now)
        self._account.replaced(was, now)

    def _compact(self, want: Want, cancel: Cancel) -> bool:
        """Whether it was recorded. One that does not help is a miss; where nothing lies before the
        newest messages none is tried, and a later call may find something."""
        if not self._compactor.can(want):
            return False
        self._turn.begin_compaction(want.trigger)
        done = None
        try:
            done = self._compactor.run(want, cancel)
        except (SummaryFailed, ProviderError) as exc:
            cancel.raise_if_cancelled()
            why = self._why(exc)
            self._breaker.missed(why)
            log.warning("a compaction (%s) failed: %s", want.trigger.value, why)
            return False
        finally:
            self._turn.end_compaction(done)
        done.apply(self._context)
        if done.event.summary is None:
            self._account.freed(done.freed)
        else:
            self._account.summarised(done.event.tokens_after)
        after = done.event.tokens_after
        if after >= self._account.limits.trigger or after >= want.tokens:
            self._breaker.missed()
        else:
            self._breaker.reset()
        return True

    def _why(self, exc: SummaryFailed | ProviderError) -> str:
        """Why there is no summary, in words for a person."""
        if isinstance(exc, SummaryFailed):
            return str(exc)
        return error_body(exc, self._frame.resolved.provider.id).message
