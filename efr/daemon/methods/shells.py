"""Methods about hidden shells: what holds one, stopping that, and its terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from efr.agent.shell_events import shell_busy
from efr.daemon.attachments import Attachment, no_terminal
from efr.daemon.log_reads import no_conversation
from efr.daemon.rooms import Rooms
from efr.shell.contract import Size
from efr.shell.errors import PtyClosed
from efr.store import queries
from efr.threads.requests import Call
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse

if TYPE_CHECKING:  # loaded with the first shell
    from efr.shell.hidden import HiddenShell
    from efr.shell.process import ShellProcess

MOST_KEYS: Final = 64 << 10  # bytes of one write: a paste comes in pieces
MOST_COLUMNS, MOST_ROWS = 500, 200  # so that a snapshot in all colours fits into a frame


def shell_status(rooms: Rooms, params: m.ShellStatusParams, call: Call) -> m.ShellStatusResult:
    """What holds the conversation's shell, if anything does."""
    conversation_id = params.conversation_id
    if rooms.readers.read(lambda conn: queries.conversation(conn, conversation_id)) is None:
        raise no_conversation(conversation_id)
    shell = rooms.hidden.shells.peek(conversation_id)
    command = shell.command if shell is not None else None
    return m.ShellStatusResult(busy=None if command is None else shell_busy(command))


def shell_interrupt(
    rooms: Rooms, params: m.ShellInterruptParams, call: Call
) -> m.ShellInterruptResult:
    """Stops a command that was left running, or closes its shell."""
    result = rooms.agent.shell_interrupt(params)
    rooms.hidden.look_soon()  # what ignores it is ended harder
    return result


def pty_attach(rooms: Rooms, params: m.PtyAttachParams, call: Call) -> Attachment:
    """Follows a terminal. Whoever does can type an answer."""
    attachment = rooms.hidden.attachments.open(params)
    shell = rooms.hidden.shells.find(params.pty_id)
    if shell is not None:
        # Without its tty: it shows no events, so that terminal still needs its notices.
        attachment.on_close(rooms.agent.followers.join(shell.conversation_id, True, None))
    return attachment


def pty_write(rooms: Rooms, params: m.PtyWriteParams, call: Call) -> m.PtyWriteResult:
    """Types bytes into whatever is in front."""
    if len(params.data) > MOST_KEYS:
        raise refuse(t.ErrorCode.INVALID, f"one write has at most {MOST_KEYS} bytes")
    shell, terminal = _of(rooms, params.pty_id)
    terminal.type_for_user(params.data)
    rooms.agent.typed(shell.conversation_id)
    return m.PtyWriteResult()


def pty_resize(rooms: Rooms, params: m.PtyResizeParams, call: Call) -> m.PtyResizeResult:
    """Gives a terminal another size."""
    asked = params.size
    if not asked.cols or not asked.rows:
        raise refuse(t.ErrorCode.INVALID, "a terminal has at least one row and one column")
    _, terminal = _of(rooms, params.pty_id)
    size = Size(min(asked.cols, MOST_COLUMNS), min(asked.rows, MOST_ROWS))
    try:
        terminal.resize(size)
    except PtyClosed:
        raise no_terminal(params.pty_id) from None
    except TimeoutError:
        raise refuse(t.ErrorCode.BUSY, "the terminal does not react; try again") from None
    return m.PtyResizeResult(size=t.Size(cols=size.columns, rows=size.rows))


def _of(rooms: Rooms, pty_id: str) -> tuple[HiddenShell, ShellProcess]:
    """A shell that runs, and its terminal. Raises Refusal."""
    shell = rooms.hidden.shells.find(pty_id)
    terminal = shell.terminal if shell is not None else None
    if shell is None or terminal is None:
        raise no_terminal(pty_id)
    return shell, terminal
