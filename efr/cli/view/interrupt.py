"""Ctrl+C and Esc: asking the turn to stop, and the texts that come back.

Owns what was asked and until when an answer is waited for. Runs on the session's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from efr.base.clock import Clock
from efr.cli.view.live import Queued, Shown
from efr.cli.view.talk import Talk
from efr.cli.view.turn import TurnView
from efr.client.errors import Refused
from efr.wire import methods as m
from efr.wire import types as t

ANSWER_S = 3.0  # an interrupt is answered at once; longer means that the daemon is stuck

if TYPE_CHECKING:  # loads with the first interrupt
    Answered = Callable[[m.TurnInterruptResult], None]


class Interrupt:
    """One session's wish to stop."""

    def __init__(self, talk: Talk, shown: Shown, clock: Clock) -> None:
        self._talk = talk
        self._shown = shown
        self._clock = clock
        self._conversation_id = ""
        self._take_back = False
        self.view: TurnView | None = None
        self.wanted = False  # Ctrl+C: the command ends with 130
        self.by_us = False  # an interrupt of the followed turn was asked for here
        self.pending = False  # its answer says what runs next
        self.deadline: float | None = None
        self.returned: list[str] = []  # texts for the shell

    def begin(self, conversation_id: str) -> None:
        """The prompt was accepted: a Ctrl+C from before goes out now."""
        self._conversation_id = conversation_id
        if self.wanted:
            self.ask(take_back=self._take_back)

    def overdue(self, now: float) -> bool:
        """Whether the daemon did not answer in time."""
        return self.deadline is not None and now >= self.deadline

    def ask(self, *, take_back: bool) -> bool:
        """Ctrl+C. False when the prompt still waits and stays: there is no row to take it to."""
        self.wanted, self._take_back = True, take_back
        self._shown.stopping = True
        self.deadline = self._clock.monotonic() + ANSWER_S
        view = self.view
        if view is None or not self._conversation_id:
            return True
        if view.started:
            self._stop(view, self._returned, withdraw_steers=tuple(view.steers))
            return True
        if take_back:
            self._withdraw_all(view)
        return take_back

    def escape(self, resend_as: t.LateSteerQueue, done: Answered) -> None:
        """Esc: unread steers go again as the next prompt, queued prompts come back."""
        view = self.view
        if view is None or not self._conversation_id or self.pending:
            return
        self.deadline = self._clock.monotonic() + ANSWER_S
        steers = tuple(view.steers)
        self._stop(view, done, resend_steers=steers, resend_as=resend_as if steers else None)

    def _stop(self, view: TurnView, done: Answered, **members: Any) -> None:
        self.by_us = self.pending = True

        def answered(result: m.TurnInterruptResult) -> None:
            self.pending, self.deadline = False, None
            done(result)

        def failed(refused: Refused) -> None:
            self.pending, self.deadline = False, None
            if refused.code != "conflict":  # it ended by itself meanwhile
                view.note(f"the turn was not stopped: {refused.message}", warning=True)

        self._talk.ask(
            "turn.interrupt",
            answered,
            failed,
            conversation_id=self._conversation_id,
            turn_id=view.turn_id,
            withdraw=tuple(queued.turn_id for queued in self._shown.queue),
            **members,
        )

    def _returned(self, result: m.TurnInterruptResult) -> None:
        """What was taken back goes to the shell."""
        self.returned += [steer.text for steer in result.withdrawn_steers]
        self.returned += [prompt.text for prompt in result.withdrawn]
        self._shown.queue.clear()

    def _withdraw_all(self, view: TurnView) -> None:
        """The followed prompt still waits: it and those behind it are taken back."""
        for queued in (Queued(view.turn_id, ""), *self._shown.queue):
            self._withdraw(queued)
        self._shown.queue.clear()

    def _withdraw(self, queued: Queued) -> None:
        def taken(result: m.PromptWithdrawResult) -> None:
            self.deadline = None
            self.returned.append(result.withdrawn.text)

        def failed(refused: Refused) -> None:
            if self.view is not None and queued.turn_id == self.view.turn_id:
                self._stop(self.view, self._returned)  # it started meanwhile

        self._talk.ask(
            "prompt.withdraw",
            taken,
            failed,
            conversation_id=self._conversation_id,
            target=t.WithdrawTurn(queued.turn_id),
        )
