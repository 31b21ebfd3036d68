"""`efr conversation delete`: a conversation and everything that efr keeps of it."""

from __future__ import annotations

from efr.cli.asking import can_ask
from efr.cli.conversations import resolve
from efr.cli.deletion import Allowed, delete
from efr.cli.dialog import open_connection
from efr.cli.errors import DONE, FAILED, UsageError
from efr.cli.run import Run


def conversation(run: Run) -> int:
    """Asks, deletes and reports. Raises UsageError where nobody can be asked."""
    yes, force = bool(run.args.get("--yes")), bool(run.args.get("--force"))
    if not yes and not can_ask():
        raise UsageError(
            "nobody can be asked here",
            fix="without a terminal, efr deletes a conversation only with --yes",
        )
    allowed = Allowed(delete=yes or force, held=force, running=force)
    with open_connection(run) as connection:
        found = resolve(connection, run.args["<id>"])
        if delete(run, connection, found.id, found.title, allowed):
            return DONE
    run.note("nothing was deleted")
    return FAILED
