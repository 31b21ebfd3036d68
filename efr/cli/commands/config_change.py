"""`efr config edit|set|unset`: changes of the file by a person, then a reload."""

from __future__ import annotations

import shlex
import subprocess
from typing import Any

from efr.cli.commands.config import (
    NO_DAEMON,
    check_file,
    config_file,
    refuse_from_the_agent,
    reloaded,
    tell,
)
from efr.cli.dialog import open_connection
from efr.cli.errors import CommandError, UsageError
from efr.cli.run import Run, is_terminal
from efr.client.errors import ClientError
from efr.config.edit import with_key, without_key
from efr.config.errors import ConfigError, WriteFailed
from efr.config.example import example
from efr.config.load import OVERRIDES
from efr.config.values import find, parsed
from efr.config.writer import Original, change, open_original, save
from efr.text.visible import visible_line
from efr.wire import types as t

_FIX_RULES = "efr config edit"


def set_or_unset(run: Run) -> int:
    """One key, with comments and layout kept; the whole file is checked before it is written."""
    key = run.args["<key>"]
    try:
        declared = find(key)
        if key == "permissions.rules":
            raise UsageError("rules are changed in the file", fix=_FIX_RULES)
        refuse_from_the_agent(run)
        if not run.args.get("set"):
            return _unset(run, key)
        value = parsed(declared, _typed(run.args.get("<value>", "")))
        _refuse_unknown_model(run, key, value)
        changed = change(config_file(run), lambda now: with_key(now.text or "", key, value))
    except ConfigError as exc:
        raise CommandError(visible_line(_words(run, key, exc))) from exc
    except WriteFailed as exc:
        raise CommandError(visible_line(str(exc))) from exc
    if changed is None:
        run.say(f"{key} has this value already")
    return _after(run, key)


def _typed(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as exc:
        raise UsageError("the value is not valid UTF-8") from exc
    return value


def _words(run: Run, key: str, exc: ConfigError) -> str:
    """Of the value that was typed the error alone; of what else is wrong in the file, where."""
    if exc.key is not None and exc.key.startswith(key):
        return f"{exc.key}: {exc.message}"
    return f"{config_file(run)}: {exc}"


def _unset(run: Run, key: str) -> int:
    if change(config_file(run), lambda now: without_key(now.text or "", key)) is None:
        run.say(f"{key} was not set")
        return 0
    return _after(run, key)


def edit(run: Run) -> int:
    """Opens the file behind a link in the user's editor, checks it, and reloads."""
    refuse_from_the_agent(run)
    path = config_file(run)
    try:
        original = open_original(path)
        if original.text is None:
            save(original, example())
    except (ConfigError, WriteFailed) as exc:
        raise CommandError(visible_line(str(exc))) from exc
    while True:
        _open(run, original)
        fault = check_file(run, path)
        if fault is None:
            return _after(run, None)
        run.note(f"efr: {fault}")
        if not _again():
            raise CommandError("the file has an error; efrd keeps its settings")


def _open(run: Run, original: Original) -> None:
    """Through a shell, so that an editor with arguments works."""
    editor = run.env.get("VISUAL") or run.env.get("EDITOR") or "vi"
    done = subprocess.run(
        ["sh", "-c", f"{editor} {shlex.quote(str(original.real))}"], env=dict(run.env), check=False
    )
    if done.returncode != 0:
        raise CommandError(f"{visible_line(editor)} ended with {done.returncode}")


def _again() -> bool:
    """Whether the user wants to edit once more; without a terminal nobody can say so."""
    if not is_terminal(0):
        return False
    try:
        answer = input("edit it again? [Y/n] ")
    except EOFError:
        return False
    return answer.strip().lower() in ("", "y", "yes")


def _after(run: Run, key: str | None) -> int:
    """The reload that follows a change."""
    for variable, overridden in OVERRIDES.items():
        if overridden == key and run.env.get(variable):
            run.note(f"note: {variable} wins over it while it is set")
    result = reloaded(run, lets_go=False)
    if result is None:
        run.say(NO_DAEMON)
        return 0
    return tell(run, result)


def _refuse_unknown_model(run: Run, key: str, value: Any) -> None:
    """What the daemon would refuse as the model or its effort, once a daemon can say so."""
    if key not in ("model.name", "model.effort"):
        return
    try:
        with open_connection(run) as connection:
            models: tuple[t.ModelInfo, ...] = connection.call("models.list").models
    except ClientError:
        return
    if key == "model.name":
        choices = tuple(one.id for one in models)
    else:
        default = next((one for one in models if one.default), None)
        choices = default.efforts if default is not None else ()
    if choices and value not in choices:
        what = "model of the active provider" if key == "model.name" else "effort of its model"
        raise UsageError(
            f"{visible_line(str(value))!r} is no {what}",
            fix=f"choose {', '.join(choices)}",
        )
