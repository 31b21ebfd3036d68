"""A conversation is deleted: the questions before it, and the line that reports it.

`y` to the first question deletes an idle conversation. One that another terminal holds, or whose
turn runs, has a question of its own. Blocks on the daemon and on the answers.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, Final, NamedTuple

from efr.cli.asking import ask, can_ask, fitting
from efr.cli.errors import CommandError
from efr.cli.render.conversations import named
from efr.cli.run import Run
from efr.cli.waiting import Waiting
from efr.client.connection import Connection
from efr.client.errors import Refused
from efr.text.visible import visible_line
from efr.wire import methods as m

_DATABASE: Final = "efr.sqlite"


class Allowed(NamedTuple):
    """What needs no question any more. `keep`: whether the questions stay on the screen."""

    delete: bool = False
    held: bool = False
    running: bool = False
    keep: bool = True


def delete(
    run: Run, connection: Connection, conversation_id: str, title: str | None, allowed: Allowed
) -> bool:
    """Deletes it and reports; False when the user said no. Raises CommandError, Refused."""
    question = fitting("Delete ", named(title), "? Nothing takes a delete back.")
    if not allowed.delete and not ask(question, keep=allowed.keep):
        return False
    held, running = allowed.held, allowed.running
    while True:
        try:
            members = {"conversation_id": conversation_id, "force": held, "stop": running}
            result = _request(run, connection, title, **members)
        except Refused as refused:
            if not _turn_runs(refused, title) or running:
                raise
            fact = ("A turn runs in ", named(title), "")
            running = _or_refuse(fact, "Stop it and delete?", allowed, conversation_id)
            if not running:
                return False
            continue
        if isinstance(result, m.ConversationDeleted):
            _report(run, result, title)
            return True
        if not isinstance(result, m.ConversationDeleteHeld) or held:
            raise CommandError("efrd is newer than this efr", fix="update efr")
        fact = ("", named(result.title or title), f" is open in {visible_line(result.tty)}")
        held = _or_refuse(fact, "Delete it there too?", allowed, conversation_id)
        if not held:
            return False


def _request(
    run: Run, connection: Connection, title: str | None, **members: Any
) -> m.ConversationDeleteResult:
    """The answer. efrd waits for the end of the command, the jobs and the shell before it."""
    text = fitting("deleting ", named(title), ": efrd waits for what runs in it to end")
    try:
        with Waiting(text) as waiting:
            result: m.ConversationDeleteResult = connection.call_long(
                "conversation.delete", waiting.show, **members
            )
    except KeyboardInterrupt:
        run.note("efrd goes on with it")
        raise
    return result


def _or_refuse(
    fact: tuple[str, str, str], question: str, allowed: Allowed, conversation_id: str
) -> bool:
    """The answer; without a terminal nobody can give one. Raises CommandError."""
    before, name, after = fact
    if not can_ask():
        fix = f"efr conversation delete {conversation_id} --yes --force deletes it all the same"
        raise CommandError("".join(fact), fix=fix)
    return ask(fitting(before, name, f"{after}. {question}"), keep=allowed.keep)


def _turn_runs(refused: Refused, title: str | None) -> bool:
    """Whether a stop would help. Raises CommandError while an undo runs."""
    if refused.code != "busy":
        return False
    if refused.detail("busy") == "undo":
        raise CommandError(
            f"an undo runs in {named(title)}", fix="wait until the undo ends, then delete"
        ) from refused
    return refused.detail("busy") == "turn"


def _report(run: Run, result: m.ConversationDeleted, title: str | None) -> None:
    jobs = result.jobs_stopped
    text = f"deleted {named(result.title or title)}"
    if jobs:
        text += "; efrd stopped its " + (
            "background job" if jobs == 1 else f"{jobs} background jobs"
        )
    run.say(text)
    for path in result.not_removed:
        if PurePath(path).name == _DATABASE:
            run.note(
                f"efrd could not remove all of it from {visible_line(path)}: its next start tries "
                "again; docs/operations.md says what to do when it is damaged"
            )
        else:
            run.note(f"efrd could not remove {visible_line(path)}: its next start tries again")
