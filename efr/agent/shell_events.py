"""What the hidden shells report, as events of their conversations.

Called on the thread that runs a call and on pty-reader, so nothing here waits: batches are queued
to the writer in the order of the reports, and one that cannot be written is logged.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future

from msgspec.structs import asdict

from efr.agent.ports import Writer
from efr.shell.contract import BusyCommand, InputState, LeftEnd
from efr.store.batch import Batch, Committed, NewEvent
from efr.store.errors import StoreClosed
from efr.wire import events as ev
from efr.wire import types as t

log = logging.getLogger("efr.agent")

_NAMED = 200  # characters of a command or of a screen row: enough to know it (protocol: shell_busy)


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

    def left_behind(self, conversation_id: str, command: BusyCommand) -> None:
        """A command runs on after its call answered the model."""
        event = ev.ShellCommandDetached(**asdict(shell_busy(command)))
        self._record(conversation_id, event)

    def left_input_changed(self, conversation_id: str, command: BusyCommand) -> None:
        """What a command left running waits for changed."""
        state = command.input
        self._record(
            conversation_id,
            ev.ShellCommandInputChanged(
                call_id=command.call_id,
                input=t.InputWait(state.wait),
                contained=command.contained,
                looks_secret=state.looks_secret,
                prompt=_row(state),
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
        try:
            reply = self._writer.append(Batch(events=(NewEvent(conversation_id, event),)))
        except StoreClosed:
            log.warning("a hidden shell reported after the store was closed")
        else:
            reply.add_done_callback(_log_failure)


def shell_busy(command: BusyCommand) -> t.ShellBusy:
    """The command that holds a hidden shell, as the protocol tells it."""
    by = command.approved_by
    return t.ShellBusy(
        call_id=command.call_id,
        command=command.line[:_NAMED],
        since=t.time_from_us(command.since_us),
        contained=command.contained,
        input=t.InputWait(command.input.wait),
        looks_secret=command.input.looks_secret,
        prompt=_row(command.input),
        approved_by=None if by is None else t.ApprovedBy(by),
    )


def _row(state: InputState) -> str | None:
    """The screen row of what the command asks; none when it asks nothing."""
    if state.wait == "none" or state.prompt is None:
        return None
    return state.prompt[:_NAMED]


def _log_failure(reply: Future[Committed]) -> None:
    if (exc := reply.exception()) is not None:
        log.warning("an event of a hidden shell could not be recorded: %s", exc)
