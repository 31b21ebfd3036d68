"""`efr config`: show, check, change and reload the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from efr.base.roots import find_roots
from efr.cli.agent_shell import in_agent_shell
from efr.cli.commands.status import config_error_text
from efr.cli.dialog import open_connection
from efr.cli.errors import FAILED, CommandError
from efr.cli.run import Run, may_exist
from efr.client.errors import ClientError, NoAddress, NoDaemon, Refused
from efr.config.errors import ConfigError
from efr.config.load import read, read_file
from efr.config.schema import Settings
from efr.config.warnings import foreign_model, warnings
from efr.text.visible import visible_line
from efr.wire import types as t

NO_DAEMON = "no daemon runs: it reads the file when it starts"
_MINE = "the settings are changed from your own shell, not from the agent's"


def config(run: Run) -> int:
    """Runs the one that was asked for."""
    args = run.args
    if args.get("show"):
        from efr.cli.commands.config_show import show

        return show(run)
    if args.get("check"):
        return check(run)
    if args.get("schema"):
        from efr.config.json_schema import text

        run.say(text().rstrip("\n"))
        return 0
    if args.get("reload"):
        return told(run, reloaded(run, lets_go=True))
    from efr.cli.commands import config_change

    if args.get("edit"):
        return config_change.edit(run)
    return config_change.set_or_unset(run)


def config_file(run: Run) -> Path:
    """The file of this shell. Raises RootError."""
    return find_roots(run.env, os.getuid()).config_file


def check(run: Run) -> int:
    """Says whether a file is right. A named one has to exist."""
    given = run.args.get("<path>")
    path = Path(given) if given else config_file(run)
    if given and not may_exist(path):
        raise CommandError(f"{visible_line(str(path))}: there is no such file")
    fault = check_file(run, path)
    if fault is not None:
        raise CommandError(fault)
    if path.is_symlink() and not may_exist(path):
        run.note(
            visible_line(f"warning: it is a link to {os.path.realpath(path)}, which is not there")
        )
    run.say(
        f"{visible_line(str(path))}: ok" + ("" if may_exist(path) else " (no file: all defaults)")
    )
    return 0


def check_file(run: Run, path: Path) -> str | None:
    """The error of the file in words, or None after its warnings."""
    try:
        settings = read(read_file(path))
    except ConfigError as exc:
        return visible_line(f"{path}: {exc}")
    odd = [foreign_model(settings), *warnings(settings), *_too_large(run, settings)]
    for sentence in filter(None, odd):
        run.note(visible_line(f"warning: {sentence}"))
    return None


def _too_large(run: Run, settings: Settings) -> Iterator[str]:
    """Windows above what a model has, once a daemon says what that is."""
    tables = (settings.openai.models, settings.anthropic.models, settings.compatible.models)
    given = {
        one.id: one.context_window
        for models in tables
        for one in models
        if not isinstance(one, str) and one.context_window is not None
    }
    if not given:
        return
    try:
        with open_connection(run) as connection:
            listed: tuple[t.ModelInfo, ...] = connection.call("models.list").models
    except ClientError:
        return
    for model in listed:
        largest = model.max_context_window
        if largest is not None and given.get(model.id, 0) > largest:
            yield (
                f"the context_window of {model.id} is above the model's largest,"
                f" {largest}, which is used"
            )


class _Answer(NamedTuple):
    """What the daemon said. `result` None: a change is held, so it was not asked to reload."""

    status: t.ConfigStatus | None
    result: t.ReloadResult | None


def reloaded(run: Run, *, lets_go: bool) -> t.ReloadResult | None:
    """What the daemon made of the file; None: no daemon runs. Raises as `efr.client`.

    A change that is held goes with a reload that somebody asked for, and not with one that only
    follows another change (`lets_go`): then the daemon's own watch takes up the rest.
    """
    answer = _reload(run, lets_go=lets_go)
    if answer is None:
        return None
    status, ours = answer.status, str(config_file(run))
    if status is not None and status.path != ours:
        run.note(visible_line(f"warning: efrd reads {status.path}, this shell means {ours}"))
    if answer.result is not None:
        return answer.result
    assert status is not None
    assert status.held is not None
    keys = ", ".join(status.held.loosens)
    run.note(visible_line(f"still held: {keys}; efr config reload lets it go"))
    return t.ReloadResult(applied=True, restart_needed=status.restart_needed)


def _reload(run: Run, *, lets_go: bool) -> _Answer | None:
    try:
        with open_connection(run) as connection:
            status: t.ConfigStatus | None = connection.call("admin.status").config
            if not lets_go and status is not None and status.held is not None:
                return _Answer(status, None)
            return _Answer(status, connection.call("admin.config_reload"))
    except (NoDaemon, NoAddress):
        return None
    except Refused as exc:
        if exc.code == "forbidden":
            raise CommandError(_MINE) from exc
        raise


def told(run: Run, result: t.ReloadResult | None) -> int:
    """Prints what a reload came to; the exit code."""
    if result is None:
        raise CommandError("no daemon runs", fix="systemctl --user start efrd")
    return tell(run, result)


def tell(run: Run, result: t.ReloadResult) -> int:
    """The outcome on stdout, what to know on stderr."""
    for sentence in result.warnings:
        run.note(visible_line(f"warning: {sentence}"))
    if result.error is not None:
        run.note(visible_line(f"efr: {config_error_text(result.error)}"))
    if not result.applied:
        run.note("efrd keeps its settings")
        return FAILED
    run.say("applied")
    if result.restart_needed:
        run.say(f"waits for a restart of efrd: {', '.join(result.restart_needed)}")
    return 0


def refuse_from_the_agent(run: Run) -> None:
    """Raises CommandError in a hidden shell. A running daemon refuses its descendants a reload,
    whatever they make of their environment; it is not asked while a change is held."""
    if in_agent_shell(run.env):
        raise CommandError(_MINE)
    _reload(run, lets_go=False)
