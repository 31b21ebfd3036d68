"""What is typed for a running command: the answer line, and where keys go around it.

Owns the answer line, the keys kept since a yes, and the rule that keys go nowhere after a secret
until the call ends (docs/efr.md, "Input for a running command"). Sends `input.respond`.
"""

from __future__ import annotations

import re

from efr.cli.view.answer import AnswerLine, Typed
from efr.cli.view.live import Shown, may_offer
from efr.cli.view.talk import Talk
from efr.cli.view.turn import TurnView
from efr.client.errors import Refused
from efr.client.secret import respond
from efr.wire import types as t

KEPT_LIMIT = 1024  # bytes typed ahead after a yes: what one answer may have
_SECRET_PROMPT = (
    r"(?i)\b(?:password|passphrase|passcode|verification code|one[- ]time code)|\bpin\b"
)


class Relay:
    """The keyboard's way to a command of the followed turn."""

    def __init__(self, talk: Talk, shown: Shown, conversation_id: str) -> None:
        self._talk = talk
        self._shown = shown
        self._conversation_id = conversation_id
        self._kept = bytearray(KEPT_LIMIT)  # one buffer: what is in it may be a secret
        self._kept_size = 0
        self._keeps_for = ""  # the call whose yes started the keeping
        self._muted_for = ""  # the call that got a secret
        self._noted: set[str] = set()  # waits that nobody here can answer

    @property
    def keeps(self) -> bool:
        """Whether keys are kept for the answer that an allowed call will ask for."""
        return bool(self._keeps_for)

    def allowed(self, call_id: str) -> None:
        """The user said yes to a call that may wait for keys: what follows is for it."""
        self._keeps_for = call_id

    def keep(self, data: memoryview) -> None:
        """Keeps typed bytes unseen."""
        part = data[: KEPT_LIMIT - self._kept_size]
        self._kept[self._kept_size : self._kept_size + len(part)] = part
        self._kept_size += len(part)
        self._shown.kept_keys = self._kept_size

    def swallows(self, view: TurnView) -> bool:
        """Whether keys go nowhere: after a secret, or in front of what looks like its prompt."""
        call = view.calls.running
        if call is None:
            return False
        return call.call_id == self._muted_for or _asks_secret(call.tail)

    def update(self, view: TurnView | None, *, can_type: bool) -> bool:
        """Opens or closes the line as the command waits; says whether a line was opened now."""
        call = view.calls.waiting if view is not None else None
        line = self._shown.answer
        if line is not None and not line.manual and (call is None or call.call_id != line.call_id):
            self.close()
            line = None
        for call_id in {self._keeps_for, self._muted_for} - {""}:
            if view is None or view.calls.get(call_id) is None:
                self._forget()
        if view is None or call is None or (line is not None and not line.manual):
            return False
        if not can_type:
            if call.call_id not in self._noted:
                self._noted.add(call.call_id)
                view.note("the command waits for input, and nobody can type here", warning=True)
            return False
        self.close()
        self._open(call.call_id, call.wait, secret=call.looks_secret)
        return True

    def offer(self, view: TurnView, now: float) -> bool:
        """Ctrl+\\: opens the line that a silent call takes, or closes it; False: not offered."""
        if self._shown.answer is not None:
            if self._shown.answer.manual:
                self.close()
                return True
            return False
        call = view.calls.running
        if call is None or view.question is not None or not may_offer(call, now):
            return False
        self._shown.answer = AnswerLine(call.call_id, hidden=False, shown=False, manual=True)
        return True

    def feed(self, data: memoryview, view: TurnView) -> None:
        """Typed bytes for the open line."""
        line = self._shown.answer
        if line is not None and line.feed(data) is Typed.SEND:
            self._send(line, view)

    def close(self) -> None:
        """Wipes the line and takes it away."""
        if self._shown.answer is not None:
            self._shown.answer.wipe()
            self._shown.answer = None

    def _open(self, call_id: str, wait: t.InputWait, *, secret: bool) -> None:
        hidden = wait is t.InputWait.HIDDEN
        line = AnswerLine(call_id, hidden=hidden, shown=not hidden and not secret)
        if not hidden and call_id == self._keeps_for:
            line.feed(memoryview(self._kept)[: self._kept_size])
        self._drop_kept()
        self._keeps_for = ""
        self._shown.answer = line

    def _send(self, line: AnswerLine, view: TurnView) -> None:
        secret = line.secret()
        try:
            request = respond(
                self._talk.connection,
                self._conversation_id,
                line.call_id,
                secret,
                hidden=line.hidden,
                manual=line.manual,
            )
        finally:
            secret.release()
            line.wipe()
            self._shown.answer = None
        if line.hidden:
            self._muted_for = line.call_id
        elif line.shown or line.manual:
            view.note("answered the command")
        call = view.calls.get(line.call_id)
        if call is not None:
            call.wait = t.InputWait.NONE

        def failed(refused: Refused) -> None:
            if refused.code in {"conflict", "not_found"}:
                view.note("the command no longer waits; nothing was sent", warning=True)
            else:
                view.note(f"the answer was not taken: {refused.message}", warning=True)

        self._talk.watch(request, "input.respond", failed)

    def _forget(self) -> None:
        self._keeps_for = self._muted_for = ""
        self._drop_kept()

    def _drop_kept(self) -> None:
        self._kept[:] = bytes(KEPT_LIMIT)
        self._kept_size = self._shown.kept_keys = 0


def _asks_secret(tail: str) -> bool:
    """Whether the open last line of the output looks like the prompt of a secret."""
    last = tail.rpartition("\n")[2]
    return bool(last.strip()) and bool(re.search(_SECRET_PROMPT, last))
