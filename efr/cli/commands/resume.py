"""`efr resume`: an older conversation goes on in this terminal, chosen by row, id or words.

Without a choice, or with words, the picker chooses; where it cannot run, a numbered list is
printed, whose rows `,resume N` takes.
"""

from __future__ import annotations

import os

from efr.base.roots import find_roots
from efr.cli import handover, seen
from efr.cli.asker import Asker, asker_of
from efr.cli.choice import Choice, choice
from efr.cli.conversations import every
from efr.cli.errors import DONE, CommandError
from efr.cli.listing import recent, search
from efr.cli.look import is_smart
from efr.cli.moving import resume_here
from efr.cli.picker import Fzf, pick, program
from efr.cli.printing import columns_of, print_lines
from efr.cli.prompt import clean
from efr.cli.render.conversations import index_line, numbered
from efr.cli.render.spans import MUTED, row
from efr.cli.run import Run, is_terminal
from efr.client.connection import Connection
from efr.config.errors import ConfigError
from efr.config.load import load

_MATCHES = 10  # rows of a printed search: what fits on a screen with their hits
_ENDING = ",resume N continues one here"


def resume(run: Run) -> int:
    """Resumes what was chosen, or shows what there is."""
    given = handover.take(run.env)
    asker = asker_of(run, given)
    chosen = choice(clean(_text(run) or given.prompt), take=bool(run.args.get("--take")))
    with asker.connect(run) as connection:
        conversation_id = _named(run, connection, asker, chosen)
        if conversation_id is None:
            fzf = _fzf(run)
            if fzf is None:
                return _list(run, connection, asker, chosen.words)
            picked = pick(run, connection, asker, fzf, chosen.words)
            if picked.conversation_id is None:
                return picked.code
            conversation_id = picked.conversation_id
        return resume_here(run, connection, asker, conversation_id, take=chosen.take)


def _text(run: Run) -> str:
    """The words of the command line; which of the names they came under does not matter."""
    parts: list[str] = []
    for name in ("<number>", "<id>", "<words>"):
        value = run.args.get(name) or []
        parts += [value] if isinstance(value, str) else value
    text = " ".join(parts)
    return f"-- {text}" if run.args.get("--") and text else text  # the parser took the options


def _named(run: Run, connection: Connection, asker: Asker, chosen: Choice) -> str | None:
    """The conversation that a row or an id names, None for words. Raises CommandError."""
    if chosen.row is not None:
        ids = seen.recall(run, asker.tty)
        if ids is None:
            ids = recent(connection, asker.members).ids
        if not 1 <= chosen.row <= len(ids):
            raise CommandError(f"the list has no row {chosen.row}", fix="efr resume")
        return ids[chosen.row - 1]
    if chosen.start:
        found = [one.id for one in every(connection) if one.id.startswith(chosen.start)]
        return found[0] if len(found) == 1 else None
    return None


def _list(run: Run, connection: Connection, asker: Asker, words: str) -> int:
    """Prints the recent conversations or the best matches, and remembers their order."""
    members = asker.members
    listing = search(connection, words, _MATCHES, members) if words else recent(connection, members)
    end = index_line(listing.built)
    if not listing.listed:
        print_lines(run, end)
        run.note("nothing was found" if words else "there is no conversation yet")
        return DONE
    lines = numbered(listing.listed, run.clock.now_us(), columns_of())
    print_lines(run, [*lines, *end, row(_ENDING, MUTED)])
    seen.keep(run, asker.tty, listing.ids)
    return DONE


def _fzf(run: Run) -> Fzf | None:
    """The picker's program, or None where the picker cannot or shall not run."""
    if not (is_terminal(0) and is_terminal(1) and is_smart(run.env)):
        return None
    try:
        wanted = load(
            find_roots(run.env, os.getuid()).config_file, run.env, rules=False
        ).resume.picker
    except ConfigError:
        wanted = "auto"
    return None if wanted == "list" else program(run.env)
