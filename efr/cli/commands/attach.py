"""`efr attach`: the hidden shell's screen in this terminal, until Ctrl+]."""

from __future__ import annotations

import os
import signal

from efr.cli.attach.session import End, Session
from efr.cli.attach.window import TerminalGone, Window
from efr.cli.conversations import here, resolve
from efr.cli.dialog import open_connection
from efr.cli.errors import DONE, CommandError, UsageError
from efr.cli.run import Run, is_terminal, terminal_name
from efr.cli.view.signals import Signals, die_of
from efr.client.connection import Connection
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t

_PAGE = 500  # events looked through at once: the daemon's largest page


def attach(run: Run) -> int:
    """Shows the screen and passes keys on. Never without a terminal."""
    if not (is_terminal(0) and is_terminal(1) and _is_ours()):
        raise UsageError("efr attach needs a terminal for its keys and its screen")
    with open_connection(run, capabilities=t.Capabilities(screen_snapshots=True)) as connection:
        pty_id = _pty(connection, _conversation(run, connection).id)
        with Signals() as signals, Window() as window:
            try:
                end = Session(connection, pty_id, window, run.clock).run(signals)
            except TerminalGone:
                end = End("signal", signal.SIGHUP)
    return _over(run, end)


def _is_ours() -> bool:
    """Whether this is a job in the foreground of its terminal."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def _conversation(run: Run, connection: Connection) -> t.ConversationSummary:
    wanted = run.args.get("<id>")
    return resolve(connection, wanted) if wanted else here(run, connection, terminal_name())


def _pty(connection: Connection, conversation_id: str) -> str:
    """The terminal of the conversation's shell, as the newest event about one says. Raises
    CommandError when none runs."""
    cursor: str | None = None
    while True:
        page: m.ConversationHistoryResult = connection.call(
            "conversation.history", conversation_id=conversation_id, cursor=cursor, limit=_PAGE
        )
        for envelope in reversed(page.events):
            if isinstance(envelope.event, ev.ShellStarted):
                return envelope.event.pty_id
            if isinstance(envelope.event, ev.ShellExited):
                raise CommandError("the conversation has no hidden shell now")
        cursor = page.next_cursor
        if cursor is None:
            raise CommandError("the conversation has had no hidden shell yet")


def _over(run: Run, end: End) -> int:
    """The last words, and the exit code."""
    if end.signal:
        die_of(end.signal)
    if end.refused is not None:
        if end.refused.code == t.ErrorCode.CANCELLED:
            raise CommandError("efrd was stopped, and the hidden shell with it")
        raise end.refused
    run.note("the hidden shell ended" if end.why == "shell" else "detached; efr attach comes back")
    return DONE
