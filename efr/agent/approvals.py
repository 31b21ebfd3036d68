"""Questions that wait for a person, one conversation's.

A question is parked before it is recorded, so an early answer finds it. The turn's thread blocks
in `wait` on a condition without a timeout of its own: an answer, an interrupt, the fixed limit or
being away wakes it (the limits are entries of the timer). Who wakes it first in the log wins: the
store takes one answer or one expiry, never both.

The lock "questions" guards the state; nothing is appended under it.
"""

from __future__ import annotations

import threading
from enum import Enum

from msgspec import Struct, field

from efr.agent.ports import TimerEntry, Timers
from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.wire import types as t

AWAY_WAIT_S = 300.0  # how long a question waits for somebody who is away (protocol: presence)


class Wake(Enum):
    """Why a wait ended."""

    ANSWERED = "answered"
    LIMIT = "limit"
    AWAY = "away"
    INTERRUPTED = "interrupted"


class Question(Struct, eq=False):
    """One question. `decision` is set once, by the answer that the store took."""

    call_id: str
    local_only: bool
    limit_s: float | None  # None: it waits for ever
    decision: t.ApprovalDecision | None = None
    wake: Wake | None = None
    entries: list[TimerEntry] = field(default_factory=list)
    away_entry: TimerEntry | None = None


class Questions:
    """The open questions of one conversation. Any thread."""

    def __init__(self, clock: Clock, timer: Timers) -> None:
        self._clock = clock
        self._timer = timer
        self._changed = threading.Condition()
        self._open: dict[str, Question] = {}
        self._away = False

    def park(self, call_id: str, limit_s: float | None, *, local_only: bool = False) -> Question:
        """Makes the question findable. Its time runs from `wait` on."""
        question = Question(call_id, local_only, limit_s)
        with self._changed:
            self._open[call_id] = question
        return question

    def find(self, call_id: str) -> Question | None:
        """The open question of a call."""
        with self._changed:
            return self._open.get(call_id)

    def settle(self, call_id: str, decision: t.ApprovalDecision) -> None:
        """The store took this answer."""
        with self._changed:
            question = self._open.get(call_id)
            if question is not None:
                question.decision = decision
                question.wake = Wake.ANSWERED
                self._changed.notify_all()

    def wait(self, question: Question, cancel: Cancel) -> Wake:
        """Blocks until something ends the wait. The question stays findable (see `answer_of`)."""
        now = self._clock.monotonic()
        if question.limit_s is not None:
            self._end_at(question, now + question.limit_s, Wake.LIMIT)
        with self._changed:
            away = self._away
        if away:
            self._start_away(question, now)
        forget = cancel.on_cancel(lambda: self._end(question, Wake.INTERRUPTED))
        try:
            with self._changed:
                self._changed.wait_for(lambda: question.wake is not None)
                assert question.wake is not None
                return question.wake
        finally:
            forget()
            self._drop_entries(question)

    def answer_of(self, question: Question) -> t.ApprovalDecision:
        """Blocks for the answer that the store took before our expiry: it is on its way here."""
        with self._changed:
            self._changed.wait_for(lambda: question.decision is not None)
            assert question.decision is not None
            return question.decision

    def close(self, question: Question) -> None:
        """The question is over; a later answer finds nothing."""
        with self._changed:
            self._open.pop(question.call_id, None)

    def set_away(self, away: bool) -> None:
        """Going away gives every open question its five minutes; coming back takes them away."""
        now = self._clock.monotonic()
        with self._changed:
            self._away = away
            questions = list(self._open.values())
        for question in questions:
            if away:
                self._start_away(question, now)
            else:
                self._stop_away(question)

    def _start_away(self, question: Question, now: float) -> None:
        entry = self._timer.at(now + AWAY_WAIT_S, lambda: self._end(question, Wake.AWAY))
        with self._changed:
            fresh = question.away_entry is None and question.wake is None and self._away
            if fresh:
                question.away_entry = entry
        if not fresh:
            entry.cancel()

    def _stop_away(self, question: Question) -> None:
        with self._changed:
            entry, question.away_entry = question.away_entry, None
        if entry is not None:
            entry.cancel()

    def _end_at(self, question: Question, due: float, wake: Wake) -> None:
        entry = self._timer.at(due, lambda: self._end(question, wake))
        with self._changed:
            question.entries.append(entry)

    def _end(self, question: Question, wake: Wake) -> None:
        with self._changed:
            if question.wake is None and (wake is not Wake.AWAY or self._away):
                question.wake = wake
                self._changed.notify_all()

    def _drop_entries(self, question: Question) -> None:
        with self._changed:
            entries, question.entries = question.entries, []
        for entry in entries:
            entry.cancel()
        self._stop_away(question)
