"""`efr settings`: the mode, model and effort that a prompt here would use, and why.

Three lines of a fixed shape, because the plugin reads them: name, ` = `, value, two blanks, `# `,
the source, and behind a semicolon the choices. A value that the daemon would refuse is exit 2.
"""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from efr.base.roots import find_roots
from efr.cli import handover, prompt
from efr.cli.dialog import open_connection
from efr.cli.errors import UsageError
from efr.cli.run import Run
from efr.client.errors import ClientError
from efr.config.errors import ConfigError
from efr.config.load import load
from efr.config.schema import Settings
from efr.text.visible import visible_line
from efr.wire import methods as m
from efr.wire import types as t

UNSET = "(unset)"


class Value(NamedTuple):
    """One setting: its value ("" for none), where it comes from, what else it could be."""

    name: str
    value: str
    source: str
    choices: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line that the plugin reads."""
        choices = f"; {', '.join(self.choices)}" if self.choices else ""
        return visible_line(f"{self.name} = {self.value or UNSET}  # {self.source}{choices}")


def settings(run: Run) -> int:
    """Prints the three lines. Raises UsageError for a value outside its choices."""
    given = handover.take(run.env)
    asked = prompt.settings(run.args, given)
    config, path = _config(run)
    models = _models(run)
    mode = _mode(run, asked, config, path)
    model = _model(run, asked, config, path, models)
    effort = _effort(run, asked, config, path, models, model.value)
    for value in (mode, model, effort):
        run.say(value.line)
    sys.stdout.flush()
    return 0


def _source(run: Run, name: str) -> str:
    return "flag" if run.args.get(f"--{name}") else f"EFR_{name.upper()}"


def _mode(run: Run, asked: dict[str, str], config: Settings, path: str) -> Value:
    if "mode" in asked:
        if asked["mode"] == "full" and not config.permissions.allow_full:
            allowed = ", ".join(prompt.MODES[:-1])
            fix = f"choose {allowed}, or set permissions.allow_full"
            raise UsageError("full mode is not allowed", fix=fix)
        return Value("mode", asked["mode"], _source(run, "mode"), prompt.MODES)
    default = config.permissions.mode
    source = path if path and default != Settings().permissions.mode else "default"
    return Value("mode", default, source, prompt.MODES)


def _model(
    run: Run, asked: dict[str, str], config: Settings, path: str, models: tuple[t.ModelInfo, ...]
) -> Value:
    ids = tuple(one.id for one in models)
    if "model" in asked:
        _check("model", asked["model"], ids)
        return Value("model", asked["model"], _source(run, "model"), ids)
    if config.model.name is not None:
        return Value("model", config.model.name, path, ids)
    default = next((one.id for one in models if one.default), "")
    return Value("model", default, "the daemon's default", ids)


def _effort(
    run: Run,
    asked: dict[str, str],
    config: Settings,
    path: str,
    models: tuple[t.ModelInfo, ...],
    model_id: str,
) -> Value:
    model = next((one for one in models if one.id == model_id), None)
    efforts = model.efforts if model is not None else ()
    if "effort" in asked:
        _check("effort", asked["effort"], efforts)
        return Value("effort", asked["effort"], _source(run, "effort"), efforts)
    if config.model.effort is not None:
        return Value("effort", config.model.effort, path, efforts)
    if model is not None and model.default_effort is not None:
        return Value("effort", model.default_effort, "the model's default", efforts)
    return Value("effort", "", "none is sent", efforts)


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a value outside its choices; without choices nothing is known."""
    if choices and value not in choices:
        raise UsageError(f"unknown {name} {value!r}", fix=f"choose {', '.join(choices)}")


def _config(run: Run) -> tuple[Settings, str]:
    """The settings of the file and its path; the defaults when the file is broken."""
    path = find_roots(run.env, os.getuid()).config_file
    try:
        return load(path, run.env), str(path) if path.exists() else ""
    except ConfigError as error:
        run.note(f"config.toml: {error}; the defaults are shown")
        return Settings(), ""


def _models(run: Run) -> tuple[t.ModelInfo, ...]:
    """The daemon's models; none, with a note, when no daemon answers."""
    try:
        with open_connection(run) as connection:
            found: m.ModelsListResult = connection.call("models.list")
    except ClientError:
        run.note("no daemon answers: the model and the effort are not checked")
        return ()
    return found.models
