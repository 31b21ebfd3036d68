"""What the hidden shells report, as events of their conversations.

Called on the thread that runs a call and on pty-reader, so nothing here waits: batches are queued
to the writer in the order of the reports, and one that cannot be written is logged.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future

from efr.agent.ports import Writer
from efr.shell.contract import InputState, LeftEnd
from efr.store.batch import Batch, Committed, NewEvent
from efr.wire import events as ev
from efr.wire import types as t

log = logging.getLogger("efr.agent")


class ShellEvents:
    """Hears about shells and about commands left running. Any thread."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def started(self, conversation_id: str, pty_id: str, cwd: str, pid: int) -> None:
        """A hidden shell runs."""
        self._record(conversation_id, ev.ShellStarted(pty_id=pty_id, cwd=cwd, pid=pid))

    def exited(self, conversation_id: str, pty_id: str, exit_code: int | None) -> None:
        """It is gone."""
        self._record(conversation_id, ev.ShellExited(pty_id=pty_id, exit_code=exit_code))

    def cwd_changed(self, conversation_id: str, pty_id: str, cwd: str) -> None:
        """It stands in another directory after a call."""
        self._record(conversation_id, ev.CwdChanged(pty_id=pty_id, cwd=cwd))

    def left_input_changed(self, conversation_id: str, call_id: str, state: InputState) -> None:
        """What a command left running waits for changed."""
        self._record(
            conversation_id,
            ev.ShellCommandInputChanged(
                call_id=call_id,
                input=t.InputWait(state.wait),
                contained=False,
                looks_secret=state.looks_secret,
                prompt=state.prompt,
            ),
        )

    def left_ended(
        self, conversation_id: str, call_id: str, how: LeftEnd, exit_code: int | None
    ) -> None:
        """A command left running ended."""
        self._record(
            conversation_id,
            ev.ShellCommandEnded(call_id=call_id, how=t.ShellCommandEnd(how), exit_code=exit_code),
        )

    def _record(self, conversation_id: str, event: ev.Event) -> None:
        reply = self._writer.append(Batch(events=(NewEvent(conversation_id, event),)))
        reply.add_done_callback(_log_failure)


def _log_failure(reply: Future[Committed]) -> None:
    if (exc := reply.exception()) is not None:
        log.warning("an event of a hidden shell could not be recorded: %s", exc)
