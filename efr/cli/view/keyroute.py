"""Where a key goes: to a question, to a command that waits, to the input row, or nowhere.

Owns the keyboard and what was read of it. Only a key pressed while a question is on the screen
can answer it; what was typed before edits the row and never sends (docs/efr.md, "Keys typed
ahead").
"""

from __future__ import annotations

from typing import Protocol

from efr.base.clock import Clock
from efr.cli.view.interrupt import Interrupt
from efr.cli.view.keyboard import Keyboard
from efr.cli.view.keys import ESCAPE_S, Key, KeyReader
from efr.cli.view.live import Shown
from efr.cli.view.relay import Relay
from efr.cli.view.rowkeys import RowKeys
from efr.cli.view.talk import Talk
from efr.cli.view.turn import TurnView
from efr.client.errors import Refused
from efr.text.visible import visible_line
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

_DECISIONS = {"y": "allow", "n": "deny", "a": "allow_always"}


class Stage(Protocol):
    """What the route needs of its session."""

    def note(self, text: str, *, warning: bool = False) -> None:
        """A line for the user."""

    def show_question(self, view: TurnView) -> None:
        """Brings the open question to the screen now, without its keys."""

    def show_keys(self, view: TurnView) -> None:
        """The question takes keys from now on."""

    def show_wait(self) -> None:
        """A line for a waiting command was opened."""


class KeyRoute:
    """The keys of one session."""

    def __init__(
        self, talk: Talk, shown: Shown, keyboard: Keyboard | None, clock: Clock, stage: Stage
    ) -> None:
        self._talk = talk
        self._shown = shown
        self._keyboard = keyboard
        self._clock = clock
        self._stage = stage
        self._keys = KeyReader()
        self._relay: Relay | None = None
        self._row: RowKeys | None = None
        self._conversation_id = ""
        self.escape_at: float | None = None

    def begin(
        self, sent: m.PromptSendResult, prompt: m.PromptSendParams, interrupt: Interrupt
    ) -> None:
        """The prompt was accepted."""
        self._conversation_id = sent.conversation_id
        self._relay = Relay(self._talk, self._shown, sent.conversation_id)
        self._row = RowKeys(
            self._talk, self._shown, interrupt, sent.conversation_id, prompt, self._stage.note
        )

    @property
    def row(self) -> RowKeys | None:
        """The row's actions, once the prompt was accepted."""
        return self._row

    @property
    def keyboard(self) -> Keyboard | None:
        """The keyboard to wait on: one whose keys have a place to go.

        Without such a place they stay in the terminal, for the shell.
        """
        view, shown = self._shown.view, self._shown
        has_place = shown.answer is not None or shown.row is not None
        if view is not None and not has_place:
            has_place = view.question is not None or (self._relay is not None and self._relay.keeps)
        return self._keyboard if has_place else None

    def read(self) -> None:
        """The keyboard is readable."""
        keyboard = self._keyboard
        if keyboard is None:
            return
        data = keyboard.read()
        try:
            if data:
                self._route(data, self._shown.view)
            else:  # the terminal hung up
                self._keyboard, self._shown.can_answer = None, False
        finally:
            data.release()
            keyboard.wipe()

    def settle(self, now: float) -> None:
        """What follows from what arrived, and from time."""
        if self.escape_at is not None and now >= self.escape_at:
            self.escape_at = None
            self._take(self._keys.time_is_over())
        self._look_at_question()
        self._look_at_waits()

    def heard(self, event: ev.Event) -> None:
        """An event of the conversation."""
        if self._row is not None:
            self._row.heard(event)

    def offer(self) -> bool:
        """Ctrl+\\: whether a silent call takes a line; it is open now."""
        view = self._shown.view
        if view is None or self._relay is None or self._keyboard is None:
            return False
        return self._relay.offer(view, self._clock.monotonic())

    def close(self) -> None:
        """Wipes what was typed for a command."""
        if self._relay is not None:
            self._relay.close()

    def drain(self) -> None:
        """Takes what was typed before this moment: it edits the row and never sends."""
        keyboard, row = self._keyboard, self._shown.row
        if keyboard is None:
            return
        if row is None:
            keyboard.discard()
            return
        data = keyboard.read_waiting()
        for key in self._keys.feed(bytes(data)):
            if key.name != "enter":
                row.edit(key)
        data.release()
        keyboard.wipe()

    def _route(self, data: memoryview, view: TurnView | None) -> None:
        """Typed bytes to the one place that may have them."""
        relay = self._relay
        if relay is not None and view is not None:
            if self._shown.answer is not None:
                relay.feed(data, view)
                return
            if relay.keeps and not self._question_is_open(view):
                relay.keep(data)
                return
            if self._shown.muted and view.question is None:
                return
        self._take(self._keys.feed(bytes(data)))
        waits = self._keys.escape_waits
        self.escape_at = self._clock.monotonic() + ESCAPE_S if waits else None

    def _take(self, keys: list[Key]) -> None:
        for key in keys:
            view = self._shown.view
            if view is not None and view.question is not None and key.name != "paste":
                self._answer(key, view)
            elif self._row is not None:
                self._row.take(key)
            elif self._shown.row is not None:
                self._shown.row.edit(key)

    def _answer(self, key: Key, view: TurnView) -> None:
        """y, n, and a where a rule is offered; every other key does nothing."""
        question = view.question
        if question is None or question.asked.call_id != self._shown.asking or key.name != "text":
            return
        keys = "yna" if question.can_always else "yn"
        pressed = next((char for char in key.text if char in keys), None)
        if pressed is None:
            return
        decision = t.ApprovalDecision(_DECISIONS[pressed])
        call_id, self._shown.asking = self._shown.asking, ""
        view.answered(call_id, decision)
        if question.asked.interactive and decision is not t.ApprovalDecision.DENY and self._relay:
            self._relay.allowed(call_id)

        def failed(refused: Refused) -> None:
            if refused.code != "not_found":  # another client was faster, or the time was over
                view.not_answered(call_id)
                why = visible_line(refused.message)
                self._stage.note(f"the answer was not taken: {why}", warning=True)

        self._talk.ask(
            "approval.respond",
            failed=failed,
            conversation_id=self._conversation_id,
            call_id=call_id,
            decision=decision,
        )

    @staticmethod
    def _question_is_open(view: TurnView) -> bool:
        """Whether a question waits that was not answered here."""
        return view.question is not None and not view.is_answered(view.question.asked.call_id)

    def _look_at_question(self) -> None:
        """A new question: the card, then what was typed before it, then the keys that answer.

        So a key answers only when it was pressed after its row was on the way to the screen.
        """
        view = self._shown.view
        question = view.question if view is not None else None
        if view is None or question is None:
            self._shown.asking = ""
            return
        call_id = question.asked.call_id
        if call_id == self._shown.asking or view.is_answered(call_id):
            return
        self._stage.show_question(view)
        self.drain()
        self._shown.asking = call_id
        self._stage.show_keys(view)

    def _look_at_waits(self) -> None:
        """A command that begins to wait: what was typed before is not for it."""
        relay = self._relay
        if relay is None:
            return
        kept = relay.keeps
        view = self._shown.view
        if relay.update(view, can_type=self._keyboard is not None):
            if not kept:
                self.drain()
            self._stage.show_wait()
        muted = view is not None and relay.swallows(view)
        if self._shown.muted and not muted and self._keyboard is not None:
            self._keyboard.discard()  # the rest of what was typed blindly
        self._shown.muted = muted
