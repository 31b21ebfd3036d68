"""`efr send --steer`: text for the turn that runs. Prints one line; follows nothing."""

from __future__ import annotations

from efr.cli import handover, prompt
from efr.cli.conversations import of_terminal, resolve
from efr.cli.dialog import open_connection
from efr.cli.errors import CommandError
from efr.cli.run import Run, directory, terminal_name
from efr.client.connection import Connection
from efr.client.errors import Refused
from efr.wire import types as t

_HINT = ", <text> sends it as a prompt"


def steer(run: Run) -> int:
    """Adds the text to the running turn of this terminal's conversation, or of a named one."""
    given = handover.take(run.env)
    place = prompt.Place(directory(run.env), terminal_name())
    asked = prompt.asked(run.args, given, place, hint="efr send --steer <text>")
    with open_connection(run, origin=t.Origin(asked.origin), tty=asked.tty) as connection:
        conversation = _conversation(run, connection, asked.tty)
        try:
            connection.call("turn.steer", conversation_id=conversation.id, text=asked.text)
        except Refused as refused:
            if refused.code != "conflict":
                raise
            raise CommandError("no turn takes it now", fix=_HINT) from refused
    run.note("↳ the running turn will read it")
    return 0


def _conversation(run: Run, connection: Connection, tty: str) -> t.ConversationSummary:
    wanted = run.args.get("--conversation")
    if wanted:
        return resolve(connection, wanted)
    found = of_terminal(connection, tty)
    if found is None:
        raise CommandError("this terminal has no conversation", fix=_HINT)
    return found
