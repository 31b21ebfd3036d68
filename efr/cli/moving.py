"""A conversation becomes this terminal's: the request, the question when another holds it, a line.

Blocks on the daemon and on the answer of the question.
"""

from __future__ import annotations

from efr.cli.asker import Asker
from efr.cli.asking import ask, can_ask, fitting
from efr.cli.errors import DONE, FAILED, CommandError
from efr.cli.printing import print_lines
from efr.cli.render.conversations import NO_PROJECT, named
from efr.cli.render.opening import scope_name, tilde
from efr.cli.render.spans import MUTED, row
from efr.cli.run import Run
from efr.client.connection import Connection
from efr.text.numbers import age_text
from efr.text.visible import visible_line
from efr.wire import methods as m
from efr.wire import types as t


def resume_here(
    run: Run, connection: Connection, asker: Asker, conversation_id: str, *, take: bool
) -> int:
    """Moves it and prints the line of the effect. The exit code; 1 when it stays where it is."""
    while True:
        result: m.ConversationResumeResult = connection.call(
            "conversation.resume",
            conversation_id=conversation_id,
            context=asker.shell_context(),
            take=take,
        )
        if isinstance(result, m.ConversationResumed):
            print_lines(run, [row(effect(result, run.clock.now_us(), _home(run)), MUTED)])
            return DONE
        if not isinstance(result, m.ConversationResumeHeld) or take:
            raise CommandError("efrd is newer than this efr", fix="update efr")
        name, where = named(result.title), f" is open in {visible_line(result.tty)}"
        if not can_ask():
            fix = f"efr resume --take {conversation_id} moves it here"
            raise CommandError(name + where, fix=fix)
        if not ask(fitting("", name, f"{where}. Move it here?")):
            run.note("nothing moved")
            return FAILED
        take = True


def effect(result: m.ConversationResumed, now_us: int, home: str) -> str:
    """What the resume did, and where the conversation goes on."""
    inside = isinstance(result.scope.scope, t.RouteProject)
    place = scope_name(result.scope) if inside else NO_PROJECT
    age = age_text((now_us - t.time_to_us(result.updated_at)) / 1_000_000)
    text = f"↪ resumed {named(result.title)} ({place}, {age})"
    if result.continues_here:
        return text
    return f"{text}; it continues when you prompt in {tilde(result.scope.dir, home)}"


def _home(run: Run) -> str:
    return run.env.get("HOME", "")
