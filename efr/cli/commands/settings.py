"""`efr settings`: the mode, model and effort that a prompt here would use, and why.

Three lines of a fixed shape, because the plugin reads them: name, ` = `, value, two blanks, `# `,
the source, and behind a semicolon the choices. A value that the daemon would refuse is exit 2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from efr.base.roots import find_roots
from efr.cli import handover, prompt
from efr.cli.dialog import open_connection
from efr.cli.errors import UsageError
from efr.cli.run import Run
from efr.client.errors import ClientError
from efr.config.effective import is_given
from efr.config.errors import ConfigError
from efr.config.forms import WORD
from efr.config.load import load, parse, read_file
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


class _Known(NamedTuple):
    """What the file and the daemon say. `path` is "" without a file, `sandbox` None without one."""

    config: Settings
    path: str
    given: Mapping[str, Any]
    models: tuple[t.ModelInfo, ...] = ()
    answers: bool = False
    sandbox: t.SandboxStatus | None = None

    def source(self, key: str) -> str | None:
        """The file, when it sets the key."""
        return self.path if is_given(key, self.given) else None


def settings(run: Run) -> int:
    """Prints the three lines. Raises UsageError for a value outside its choices."""
    given = handover.take(run.env)
    asked = prompt.settings(run.args, given)
    known = _daemon(run, _file(run), asked)
    mode = _mode(run, asked, known)
    model = _model(run, asked, known)
    effort = _effort(run, asked, known, model.value)
    for value in (mode, model, effort):
        run.say(value.line)
    _warn(run, known, mode, model, effort)
    sys.stdout.flush()
    return 0


def _source(run: Run, name: str) -> str:
    return "flag" if run.args.get(f"--{name}") else f"EFR_{name.upper()}"


def _mode(run: Run, asked: dict[str, str], known: _Known) -> Value:
    if "mode" in asked:
        if asked["mode"] == "full" and not known.config.permissions.allow_full:
            allowed = ", ".join(prompt.MODES[:-1])
            fix = f"choose {allowed}, or set permissions.allow_full"
            raise UsageError("full mode is not allowed", fix=fix)
        return Value("mode", asked["mode"], _source(run, "mode"), prompt.MODES)
    source = known.source("permissions.mode") or "default"
    return Value("mode", known.config.permissions.mode, source, prompt.MODES)


def _model(run: Run, asked: dict[str, str], known: _Known) -> Value:
    ids = tuple(one.id for one in known.models)
    if "model" in asked:
        _check("model", asked["model"], ids)
        return Value("model", asked["model"], _source(run, "model"), ids)
    if known.config.model.name is not None:
        return Value("model", known.config.model.name, known.path, ids)
    default = next((one.id for one in known.models if one.default), "")
    return Value("model", default, "the daemon's default", ids)


def _effort(run: Run, asked: dict[str, str], known: _Known, model_id: str) -> Value:
    model = next((one for one in known.models if one.id == model_id), None)
    efforts = model.efforts if model is not None else ()
    if "effort" in asked:
        _check("effort", asked["effort"], efforts)
        if not efforts and not WORD.fits(asked["effort"]):  # nobody knows which ones there are
            raise UsageError(f"unknown effort {asked['effort']!r}", fix=f"choose {WORD.must}")
        return Value("effort", asked["effort"], _source(run, "effort"), efforts)
    if known.config.model.effort is not None:
        return Value("effort", known.config.model.effort, known.path, efforts)
    if model is not None and model.default_effort is not None:
        return Value("effort", model.default_effort, "the model's default", efforts)
    return Value("effort", "", "none is sent", efforts)


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuses a value outside its choices; without choices nothing is known."""
    if choices and value not in choices:
        raise UsageError(f"unknown {name} {value!r}", fix=f"choose {', '.join(choices)}")


def _warn(run: Run, known: _Known, mode: Value, model: Value, effort: Value) -> None:
    """What these values come to that they do not say."""
    runs = mode.value
    if runs == "full" and not known.config.permissions.allow_full:
        run.note("full mode is not allowed (permissions.allow_full): a prompt runs as auto")
        runs = "auto"
    if runs == "auto" and known.answers:
        sandbox = known.sandbox
        if sandbox is None or not sandbox.available:
            reason = sandbox.reason if sandbox is not None else None
            why = reason or "auto needs a sandbox, and this efrd has none"
            run.note(visible_line(f"auto runs as cautious: {why}"))
    for value in (model, effort):
        if value.choices and value.value and value.value not in value.choices:
            run.note(
                visible_line(
                    f"{value.name} {value.value} is not on offer: a prompt that names none is"
                    f" refused (choose {', '.join(value.choices)})"
                )
            )


def _file(run: Run) -> _Known:
    """The settings of the file; the defaults when the file is broken."""
    path = find_roots(run.env, os.getuid()).config_file
    try:
        settings, text = load(path, run.env, rules=False), read_file(path)
    except ConfigError as error:
        run.note(visible_line(f"config.toml: {error}; the defaults are shown"))
        return _Known(Settings(), "", {})
    return _Known(settings, str(path) if path.exists() else "", parse(text) if text else {})


def _daemon(run: Run, known: _Known, asked: dict[str, str]) -> _Known:
    """With what the daemon says; a note when none answers."""
    try:
        with open_connection(run) as connection:
            found: m.ModelsListResult = connection.call("models.list")
            known = known._replace(models=found.models, answers=True)
            default = known.config.permissions.mode
            if asked.get("mode") == "auto" or ("mode" not in asked and default in ("auto", "full")):
                status: m.AdminStatusResult = connection.call("admin.status")
                known = known._replace(sandbox=status.sandbox)
    except ClientError:
        run.note("no daemon answers: the model and the effort are not checked")
    return known
