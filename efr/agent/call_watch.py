"""Follows one running tool call into the log: its newest output and what it waits for.

Output goes out at most once per update interval, as the newest tail with the count of all bytes.
A change of what the command waits for is never merged and comes after the output before it. On
the thread that runs the call (the conversation's worker); blocks on the store.
"""

from __future__ import annotations

from collections.abc import Callable

from efr.agent.commit import TurnLog
from efr.base.clock import Clock
from efr.wire import events as ev
from efr.wire import types as t


class Watch:
    """The watcher of one call."""

    def __init__(
        self,
        turn_log: TurnLog,
        call_id: str,
        clock: Clock,
        interval_s: Callable[[], float],
        someone_can_answer: Callable[[], bool],
    ) -> None:
        self._log = turn_log
        self._call_id = call_id
        self._clock = clock
        self._interval_s = interval_s
        self._someone_can_answer = someone_can_answer
        self._pending: tuple[str, int] | None = None
        self._next_at = 0.0

    def output(self, tail: str, total_bytes: int) -> None:
        """New output: recorded now, or when the interval has passed and more comes."""
        self._pending = (tail, total_bytes)
        if self._clock.monotonic() >= self._next_at:
            self._flush()

    def input_changed(self, wait: str, looks_secret: bool, prompt: str | None) -> None:
        """Recorded at once. `prompt` is a line of the screen and stays here: it may show a name."""
        self._flush()
        self._log.record(
            ev.ToolCallInputChanged(
                turn_id=self._log.turn_id,
                call_id=self._call_id,
                input=t.InputWait(wait),
                looks_secret=looks_secret and wait == "visible",
            )
        )

    def someone_can_answer(self) -> bool:
        """Whether a person who can type follows the conversation now."""
        return self._someone_can_answer()

    def finish(self) -> None:
        """The call is over: what was reported just before is recorded before its end."""
        self._flush()

    def _flush(self) -> None:
        if self._pending is None:
            return
        (tail, total), self._pending = self._pending, None
        self._next_at = self._clock.monotonic() + self._interval_s()
        self._log.record(
            ev.ToolCallOutputUpdated(
                turn_id=self._log.turn_id, call_id=self._call_id, tail=tail, bytes=total
            )
        )
