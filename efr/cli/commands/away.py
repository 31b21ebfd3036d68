"""`efr away`: the user is not there, so a question waits five minutes and no longer."""

from __future__ import annotations

from efr.cli import handover
from efr.cli.asker import asker_of
from efr.cli.conversations import named_or_here
from efr.cli.errors import DONE
from efr.cli.run import Run
from efr.wire import methods as m
from efr.wire import types as t

_UNTIL = "a question waits 5 minutes; your next input ends it"


def away(run: Run) -> int:
    """Marks the user away from one conversation, or from each that had input; a line confirms."""
    asker = asker_of(run, handover.take(run.env))
    with asker.connect(run) as connection:
        every = run.args.get("--all")
        one = None if every else named_or_here(run, connection, asker.tty or "", "away")
        done: m.PresenceSetResult = connection.call(
            "presence.set", conversation_id=one, presence=t.Presence.AWAY
        )
    run.say(_told(len(done.changed), every=bool(every)))
    return DONE


def _told(changed: int, *, every: bool) -> str:
    if every and not changed:
        return "nothing changed: you are away from every conversation that had input"
    if not every:
        return f"away: {_UNTIL}" if changed else f"away already: {_UNTIL}"
    return f"away from {changed} conversation{'s' * (changed > 1)}: {_UNTIL}"
