"""`efr config show`: every key with its value and source, what efr uses, what efrd reads."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from efr.base.roots import Roots, find_roots
from efr.cli.commands.config import check_file
from efr.cli.commands.status import config_error_text
from efr.cli.dialog import open_connection
from efr.cli.look import color_mode
from efr.cli.run import Run, is_terminal, may_exist
from efr.client.address import socket_path
from efr.client.errors import ClientError
from efr.config.effective import render
from efr.config.errors import ConfigError
from efr.config.load import OVERRIDES, load, read_file
from efr.config.schema import Settings
from efr.config.toml import inline
from efr.text.visible import visible_line
from efr.wire import methods as m

_SOURCES = {
    "dir_variable": "env EFR_{}_DIR",
    "efr_home": "env EFR_HOME",
    "xdg": "XDG",
    "run_user": "/run/user",
}
_TRUE = frozenset({"1", "true", "yes", "on"})


def show(run: Run) -> int:
    """Prints the whole; a file with an error shows the defaults."""
    roots = find_roots(run.env, os.getuid())
    path = roots.config_file
    overridden = {key: f"env {name}" for name, key in OVERRIDES.items() if run.env.get(name)}
    try:
        settings, file = load(path, run.env), read_file(path)
    except ConfigError as exc:
        run.note(visible_line(f"warning: {path}: {exc}; the defaults are shown"))
        settings, file, overridden = Settings(), b"", {}
    else:
        check_file(run, path)
    run.say(f"# {visible_line(str(path))}: {visible_line(_what(path))}")
    sys.stdout.write(visible_lines(render(settings, file, overridden)))
    for line in (*_efr(run, settings), *_paths(roots), *_daemon(run, path)):
        run.say(visible_line(line))
    return 0


def visible_lines(text: str) -> str:
    """Each line safe for a terminal."""
    return "".join(f"{visible_line(line)}\n" for line in text.splitlines())


def _what(path: Path) -> str:
    if path.is_symlink():
        target = os.path.realpath(path)
        there = "" if os.path.exists(target) else ", which does not exist"
        return f"a link to {target}{there}"
    return "a file" if may_exist(path) else "no file, all defaults"


def _efr(run: Run, settings: Settings) -> list[str]:
    """What the command itself uses now."""
    browser = run.env.get("EFR_OPEN_BROWSER", "").lower() in _TRUE
    background = run.env.get("EFR_TERMINAL_BG") or "unknown"
    theme = settings.render.theme
    return [
        "",
        "[efr]",
        f"theme = {inline(theme) if theme is not None else '(unset)'}",
        f"background = {inline(background)}",
        f"colour = {inline(color_mode(run.env).value if is_terminal(1) else 'plain')}",
        f"formatted = {inline(is_terminal(1))}",
        f"open_browser = {inline(browser)}",
        f"log = {inline(settings.log)}",
    ]


def _paths(roots: Roots) -> list[str]:
    lines = ["", "[paths]"]
    for name in ("config", "data", "state", "runtime"):
        root = getattr(roots, name)
        source = _SOURCES[root.source].format(name.upper())
        lines.append(f"{name} = {inline(str(root.path))}  # {source}")
    return lines


def _daemon(run: Run, path: Path) -> list[str]:
    lines = ["", "[daemon]", f"socket = {inline(socket_path(run.env))}"]
    try:
        with open_connection(run) as connection:
            status: m.AdminStatusResult = connection.call("admin.status")
    except ClientError:
        return [*lines, "# no daemon answers"]
    found = status.config
    if found is None:
        return lines
    if found.path != str(path):
        run.note(visible_line(f"warning: efrd reads {found.path}, this shell means {path}"))
    lines.append(f"config = {inline(found.path)}")
    if found.reload_error is not None:
        lines.append(f"reload_error = {inline(config_error_text(found.reload_error))}")
    if found.restart_needed:
        lines.append(f"restart_needed = {inline(list(found.restart_needed))}")
    if found.held is not None:
        lines.append(f"held = {inline(list(found.held.loosens))}")
    return lines
