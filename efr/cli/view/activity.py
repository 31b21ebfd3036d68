"""What a turn is doing, in the words of the status row. Pure."""

from __future__ import annotations

from efr.text.numbers import size_text
from efr.text.visible import visible_line
from efr.wire import types as t

SILENCE_S = 20.0  # a model that thinks sends something more often; longer is worth saying
WAITING = "waiting for the model"
_COMPACTS = "compacting the context"


class Activity:
    """The state that the newest item gives."""

    def __init__(self) -> None:
        self.context: t.ContextUse | None = None
        self.front = ""  # the tool that the turn in front runs
        self._state = ""
        self._title = ""
        self._heard_at: float | None = None
        self.stopping = False  # somebody asked to stop the turn

    def heard(self, now: float) -> None:
        """Something of the turn arrived."""
        self._heard_at = now

    def waits_for_model(self) -> None:
        self._state, self._title = WAITING, ""

    def thinks(self, title: str | None) -> None:
        self._title = visible_line(title) if title else self._title
        self._state = f"thinking: {self._title}" if self._title else "thinking"

    def writes(self) -> None:
        self._state = "writing"

    def prepares(self, tool: str, size_bytes: int) -> None:
        self._state = f"preparing {visible_line(tool)}, {size_text(size_bytes)}"

    def runs(self, tool: str) -> None:
        self._state = f"running {visible_line(tool)}"

    def reviews(self) -> None:
        self._state = "reviewing what leaves the sandbox"

    def compacts(self) -> None:
        self._state = _COMPACTS

    def counts(self, use: t.ContextUse) -> None:
        """How full the context is; the first count after a compaction says that it is over."""
        self.context = use
        if self._state == _COMPACTS:
            self.waits_for_model()

    def interrupts(self) -> None:
        self._state, self.stopping = "interrupting", True

    def text(self, now: float, *, started: bool, asks: bool) -> str:
        """The state. `asks`: a question waits that another client has to answer."""
        if asks:
            return "waiting for an answer from another client"
        if not started:
            return f"queued; the turn in front runs {self.front}" if self.front else "queued"
        silence = now - self._heard_at if self._heard_at is not None else 0.0
        if silence >= SILENCE_S and not self._state.startswith("running"):
            return f"no data for {int(silence)}s"
        return self._state or WAITING
