"""What the keys of the input row do: steer, queue, stop, take back; everything else edits.

A late steer or a queued prompt is sent with the context and settings of the followed prompt.
"""

from __future__ import annotations

from collections.abc import Callable

from efr.cli.view.interrupt import Interrupt
from efr.cli.view.keys import Key
from efr.cli.view.live import Queued, Shown
from efr.cli.view.row import prompt_of
from efr.cli.view.talk import Talk
from efr.client.errors import Refused
from efr.text.visible import visible_line
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t


class RowKeys:
    """The row's actions for one conversation."""

    def __init__(
        self,
        talk: Talk,
        shown: Shown,
        interrupt: Interrupt,
        conversation_id: str,
        prompt: m.PromptSendParams,
        note: Callable[[str], None],
    ) -> None:
        self._talk = talk
        self._shown = shown
        self._interrupt = interrupt
        self._conversation_id = conversation_id
        self._prompt = prompt
        self._note = note
        self._actions = {
            "enter": self._steer,
            "tab": self._queue,
            "esc": self._escape,
            "take_back": self._take_back_newest,
        }

    def take(self, key: Key) -> None:
        """One key for the row."""
        row = self._shown.row
        if row is None:
            return
        action = self._actions.get(key.name)
        if action is None:
            row.edit(key)
        else:
            action()

    def take_next(self) -> Queued | None:
        """The prompt to follow after the turn that ended."""
        return self._shown.queue.pop(0) if self._shown.queue else None

    def heard(self, event: ev.Event) -> None:
        """What happened to prompts and steers of this row elsewhere."""
        if isinstance(event, ev.TurnSteered) and event.text in self._shown.late:
            self._shown.late.remove(event.text)
        if isinstance(event, ev.PromptWithdrawn | ev.TurnCancelled):
            for queued in [q for q in self._shown.queue if q.turn_id == event.turn_id]:
                self._shown.queue.remove(queued)
                if isinstance(event, ev.TurnCancelled):
                    self._back_to_row(queued.text)

    def _text(self) -> str:
        """The prompt in the row, taken out; "" for a blank one, which stays."""
        row = self._shown.row
        text = row.text if row is not None else ""
        if row is None or not text.strip():
            return ""
        row.set("")
        return prompt_of(text)

    def _steer(self) -> None:
        view = self._shown.view
        if view is None or not (text := self._text()):
            return
        self._shown.late.append(text)

        def done(result: m.TurnSteerResult) -> None:
            if text in self._shown.late:
                self._shown.late.remove(text)
            if result.queued:
                self._shown.queue.append(Queued(result.turn_id, text))

        self._talk.ask(
            "turn.steer",
            done,
            lambda refused: self._refused(refused, text),
            conversation_id=self._conversation_id,
            turn_id=view.turn_id,
            text=text,
            if_late=self._late(),
        )

    def _queue(self) -> None:
        if not (text := self._text()):
            return

        def done(result: m.PromptSendResult) -> None:
            if text in self._shown.late:
                self._shown.late.remove(text)
            self._shown.queue.append(Queued(result.turn_id, text))

        self._shown.late.append(text)
        self._talk.ask(
            "prompt.send",
            done,
            lambda refused: self._refused(refused, text),
            conversation_id=self._conversation_id,
            text=text,
            context=self._prompt.context,
            last_command=self._prompt.last_command,
            settings=self._prompt.settings,
        )

    def _escape(self) -> None:
        view = self._shown.view
        if view is None or view.over:
            return
        if view.started:
            self._interrupt.escape(self._late(), self._escaped)
        elif self._shown.queue:
            self._take_back_newest()
        else:
            self._withdraw(Queued(view.turn_id, ""))

    def _escaped(self, result: m.TurnInterruptResult) -> None:
        for prompt in result.withdrawn:
            self._back_to_row(prompt.text)
        self._shown.queue.clear()
        view = self._shown.view
        if result.resent is not None and view is not None:
            texts = [view.steers.pop(seq) for seq in result.resent.steers if seq in view.steers]
            self._shown.queue.append(Queued(result.resent.turn_id, "\n".join(texts)))

    def _take_back_newest(self) -> None:
        if self._shown.queue:
            self._withdraw(self._shown.queue[-1])

    def _withdraw(self, queued: Queued) -> None:
        def done(result: m.PromptWithdrawResult) -> None:
            if queued in self._shown.queue:
                self._shown.queue.remove(queued)
            self._back_to_row(result.withdrawn.text)

        def failed(refused: Refused) -> None:
            self._note(f"it was not taken back: {visible_line(refused.message)}")

        self._talk.ask(
            "prompt.withdraw",
            done,
            failed,
            conversation_id=self._conversation_id,
            target=t.WithdrawTurn(queued.turn_id),
        )

    def _late(self) -> t.LateSteerQueue:
        return t.LateSteerQueue(
            context=self._prompt.context,
            last_command=self._prompt.last_command,
            settings=self._prompt.settings,
        )

    def _refused(self, refused: Refused, text: str) -> None:
        if text in self._shown.late:
            self._shown.late.remove(text)
        self._back_to_row(text)
        self._note(f"not sent: {visible_line(refused.message)}")

    def _back_to_row(self, text: str) -> None:
        if self._shown.row is not None:
            self._shown.row.add_line(text)
