"""From a prompt that is under way to a running session: surface, keyboard, signals, settings."""

from __future__ import annotations

import sys

from efr.cli.dial import HELLO, REQUEST, Dialled
from efr.cli.errors import FAILED
from efr.cli.look import Look, is_smart, look
from efr.cli.render import progress
from efr.cli.render.opening import Here
from efr.cli.run import Run, is_terminal
from efr.cli.view.keyboard import Keyboard
from efr.cli.view.keymode import KeyMode
from efr.cli.view.row import InputRow
from efr.cli.view.screen import Screen, size_of, writer
from efr.cli.view.session import Options, Session
from efr.cli.view.signals import Signals
from efr.cli.view.surface import JsonSurface, PipeSurface, Surface, TerminalSurface
from efr.cli.view.talk import Talk
from efr.cli.view.turn import TurnOptions
from efr.client.connection import Connection
from efr.text.visible import visible_line
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire.codec import from_builtins


def follow(run: Run, dialled: Dialled, keys: KeyMode | None, *, draft_file: str) -> int:
    """Follows the prompt that `dialled` carries to its end; the exit code."""
    full = is_terminal(1) and is_smart(run.env) and not run.args.get("--json")
    shown = look(run.env, terminal=full)
    if shown.fault:
        run.note(shown.fault)
    hello = from_builtins(dialled.hello, m.HelloParams)
    prompt = from_builtins(dialled.params, m.PromptSendParams)
    with (
        Connection(dialled.link, run.ids, path=dialled.path, hello=hello) as connection,
        Signals() as signals,
    ):
        talk = Talk(connection)
        session = Session(
            talk,
            _surface(run, shown, full=full),
            signals,
            Keyboard(keys) if keys is not None else None,
            run.clock,
            _options(prompt, shown, run, draft_file),
        )
        if full and keys is not None and shown.render.turn_input:
            session.shown.row = InputRow()
        session.start(HELLO, REQUEST)
        try:
            code = session.run()
        finally:
            talk.connection.close()  # another one after a reconnect
    return _told(run, session, code) if run.args.get("--json") else code


def _surface(run: Run, shown: Look, *, full: bool) -> Surface:
    if full:
        screen = Screen(writer(1), size_of(1), shown.colors)
        tells = progress.wanted(shown.render.progress, run.env)
        return TerminalSurface(screen, shown.colors, tells_progress=tells)
    if run.args.get("--json"):
        return JsonSurface(sys.stdout, sys.stderr, safe=is_terminal(1))
    return PipeSurface(sys.stdout, sys.stderr, safe=is_terminal(1))


def _options(prompt: m.PromptSendParams, shown: Look, run: Run, draft_file: str) -> Options:
    return Options(
        here=Here(run.clock.now_us(), run.env.get("HOME", ""), prompt.settings),
        turn=TurnOptions(shown.render.diff_lines, shown.render.turn_summary),
        prompt=prompt,
        draft_file=draft_file,
        motion=shown.render.motion,
    )


def _told(run: Run, session: Session, code: int) -> int:
    """A script learns on stderr what went wrong, and by the exit code that something did."""
    view = session.shown.view
    if view is None:
        return code
    if isinstance(view.end, ev.TurnFailed):
        error = view.end.error
        run.note(f"efr: the turn failed: {error.code.value}: {visible_line(error.message)}")
    for refused in view.refused_calls:
        run.note(f"efr: a call was refused: {refused}")
    return code or (FAILED if view.refused_calls else code)
