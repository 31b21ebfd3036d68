"""`efr compact`: makes room in the context of a conversation now, between its turns."""

from __future__ import annotations

from efr.cli import handover
from efr.cli.asker import asker_of
from efr.cli.conversations import named_or_here
from efr.cli.errors import DONE
from efr.cli.printing import print_lines
from efr.cli.prompt import clean
from efr.cli.render.ending import compaction_text
from efr.cli.render.spans import MUTED, row
from efr.cli.run import Run
from efr.cli.waiting import Working
from efr.client.connection import Connection
from efr.wire import methods as m


def compact(run: Run) -> int:
    """Asks for it, waits, and prints the line that a compaction leaves."""
    given = handover.take(run.env)
    asker = asker_of(run, given)
    focus = clean(" ".join(run.args.get("<focus>") or []) or given.prompt)
    with asker.connect(run) as connection:
        conversation_id = named_or_here(run, connection, asker.tty or "", "compact")
        done = _wait(run, connection, conversation_id, focus.strip() or None)
    print_lines(run, [row(compaction_text(done.compaction), MUTED)])
    return DONE


def _wait(
    run: Run, connection: Connection, conversation_id: str, focus: str | None
) -> m.ConversationCompactResult:
    """Ctrl+C ends the wait, not the compaction."""
    try:
        with Working("compacting the context", run.clock) as working:
            done: m.ConversationCompactResult = connection.call_long(
                "conversation.compact",
                working.show,
                conversation_id=conversation_id,
                focus=focus,
            )
    except KeyboardInterrupt:
        run.note("efrd goes on with the compaction")
        raise
    return done
