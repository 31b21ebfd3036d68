"""`efr context`: what fills the model's context of a conversation. Sizes and labels alone."""

from __future__ import annotations

from typing import Any

from efr.cli import handover
from efr.cli.asker import asker_of
from efr.cli.conversations import here, resolve
from efr.cli.dialog import open_connection
from efr.cli.errors import DONE
from efr.cli.printing import columns_of, print_json, print_lines
from efr.cli.render.context import report
from efr.cli.render.spans import wrap
from efr.cli.run import Run
from efr.wire import methods as m


def context(run: Run) -> int:
    """Prints the report of a conversation, this terminal's when none is named."""
    tty = asker_of(run, handover.take(run.env)).tty or ""
    with open_connection(run, tty=tty) as connection:
        wanted = run.args.get("<id>")
        found = resolve(connection, wanted) if wanted else here(run, connection, tty)
        members: dict[str, Any] = {
            "conversation_id": found.id,
            "model": run.args.get("--model"),
        }
        if run.args.get("--json"):
            print_json(connection.call_json("conversation.context", **members))
            return DONE
        told: m.ConversationContextResult = connection.call("conversation.context", **members)
    lines = report(told, run.clock.now_us())
    columns = columns_of()
    if columns is not None:
        lines = [part for line in lines for part in (wrap(line, columns) if line else [line])]
    print_lines(run, lines)
    return DONE
