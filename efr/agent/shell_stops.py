"""A person stops a command that its call left running, or closes its hidden shell.

Handler threads. Looked at first, recorded second, done last: a retry finds the receipt and sends
no second signal, and a shell that dies with efrd needs none.
"""

from __future__ import annotations

import contextlib
from typing import Final

from efr.agent.receipts import Form
from efr.agent.services import Services
from efr.shell.errors import CommandRuns, NoSuchCall
from efr.store.batch import Batch
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import refuse


def _no_number(result: m.ShellInterruptResult, base: int) -> m.ShellInterruptResult:
    return result


SHELL_INTERRUPT: Final = Form("shell.interrupt", m.ShellInterruptResult, _no_number)


def shell_interrupt(services: Services, params: m.ShellInterruptParams) -> m.ShellInterruptResult:
    """Sends the interrupt, or the hang-up with `close`; does not wait for what comes of it."""
    shell = services.ports.shells.peek(params.conversation_id)
    if shell is None:
        raise refuse(t.ErrorCode.NOT_FOUND, "the conversation has no hidden shell now")
    try:
        shell.check_stop(params.call_id, params.close)
    except NoSuchCall:
        raise refuse(t.ErrorCode.NOT_FOUND, "this call left no command running") from None
    except CommandRuns:
        why = "the call of this command has not answered; interrupt its turn instead"
        raise refuse(t.ErrorCode.CONFLICT, why) from None
    result = m.ShellInterruptResult()
    receipt = SHELL_INTERRUPT.receipt(params.command_id, result, seq_of=-1)
    services.commits.append(Batch(receipt=receipt))
    if params.close:
        shell.hang_up()
    else:
        with contextlib.suppress(NoSuchCall, CommandRuns):  # it ended meanwhile
            shell.interrupt(params.call_id)
    return result
