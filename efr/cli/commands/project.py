"""`efr project list|add|remove`: the registry of projects."""

from __future__ import annotations

import os

from efr.cli.dialog import open_connection
from efr.cli.printing import print_lines, table
from efr.cli.prompt import clean
from efr.cli.run import Run, directory
from efr.client.connection import Connection
from efr.text.visible import visible_line
from efr.wire import methods as m
from efr.wire import types as t


def project(run: Run) -> int:
    """Lists, registers or takes out."""
    with open_connection(run) as connection:
        if run.args.get("add"):
            return _add(run, connection)
        if run.args.get("remove"):
            return _remove(run, connection)
        return _list(run, connection)


def _list(run: Run, connection: Connection) -> int:
    found: m.ProjectsListResult = connection.call("projects.list")
    print_lines(run, table([[_name(one), visible_line(one.root)] for one in found.projects]))
    if not found.projects:
        run.note(f"no project is registered in {visible_line(found.file)}")
        run.note("efr project add registers the work tree of this directory")
    return 0


def _add(run: Run, connection: Connection) -> int:
    """Without a path: the work tree that holds the directory, else the directory."""
    path = run.args.get("<path>")
    changed: m.ProjectChanged = connection.call(
        "admin.project_add",
        path=_absolute(run, path or ""),
        name=run.args.get("--name"),
        git_root=path is None,
    )
    run.say(f"{_name(changed.project)} is a project now: {visible_line(changed.project.root)}")
    return _reloaded(run, changed)


def _remove(run: Run, connection: Connection) -> int:
    changed: m.ProjectChanged = connection.call(
        "admin.project_remove", path=_absolute(run, run.args["<path>"])
    )
    root = visible_line(changed.project.root)
    run.say(f"{_name(changed.project)} is no project any more: {root}")
    return _reloaded(run, changed)


def _absolute(run: Run, path: str) -> str:
    return clean(os.path.normpath(os.path.join(directory(run.env), path)))


def _name(one: t.ProjectInfo) -> str:
    return visible_line(one.name or os.path.basename(one.root) or one.root)


def _reloaded(run: Run, changed: m.ProjectChanged) -> int:
    """What the reload that followed had to say."""
    for warning in changed.reload.warnings:
        run.note(visible_line(warning))
    if changed.reload.error is not None:
        run.note(f"config.toml was not read again: {visible_line(changed.reload.error.message)}")
    return 0
