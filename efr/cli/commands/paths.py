"""`efr paths`: where efr keeps what, and whether the daemon looks at the same places.

Works without a daemon.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from efr.base.roots import Root, Roots, find_roots
from efr.cli.dialog import open_connection
from efr.cli.printing import print_json, print_lines, table
from efr.cli.run import Run
from efr.client.errors import ClientError
from efr.wire import methods as m
from efr.wire import types as t

NAMES = ("config", "data", "state", "runtime")
FIX = "systemctl --user edit efrd"


def paths(run: Run) -> int:
    """Prints every place with its source."""
    roots = find_roots(run.env, os.getuid())
    daemon = _daemon_status(run)
    if run.args.get("--json"):
        print_json(_as_json(roots, daemon))
    else:
        print_lines(run, table(_rows(roots, daemon)))
    if daemon is not None and daemon.roots is not None:
        _warn_about_others(run, roots, daemon.roots)
    return 0


def _daemon_status(run: Run) -> m.AdminStatusResult | None:
    try:
        with open_connection(run) as connection:
            found: m.AdminStatusResult = connection.call("admin.status")
            return found
    except ClientError:
        return None


def _rows(roots: Roots, daemon: m.AdminStatusResult | None) -> list[list[str]]:
    rows = [
        [name, str(root.path), _source(name, root), _there(root.path)] for name, root in _all(roots)
    ]
    files = [
        ("config.toml", roots.config_file),
        ("database", roots.database),
        ("secrets", roots.secrets),
        ("socket", roots.socket),
    ]
    if daemon is not None and daemon.sandbox_paths is not None:
        places = daemon.sandbox_paths
        files += [("launcher", Path(places.launcher))] if places.launcher else []
        files += [("sandbox state", Path(places.state)), ("sandbox runtime", Path(places.runtime))]
    return rows + [[name, str(path), "", _there(path)] for name, path in files]


def _all(roots: Roots) -> list[tuple[str, Root]]:
    return [(name, getattr(roots, name)) for name in NAMES]


def _source(name: str, root: Root) -> str:
    words = {
        "dir_variable": f"EFR_{name.upper()}_DIR",
        "efr_home": "EFR_HOME",
        "xdg": "XDG",
        "run_user": "/run/user",
    }
    return words[root.source]


def _there(path: Path) -> str:
    try:
        path.stat()
    except PermissionError:
        return "no access"
    except OSError:
        return "not there"
    return ""


def _as_json(roots: Roots, daemon: m.AdminStatusResult | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        name: {"path": str(root.path), "source": root.source, "exists": os.path.exists(root.path)}
        for name, root in _all(roots)
    }
    shown["socket"] = str(roots.socket)
    shown["config_file"] = str(roots.config_file)
    shown["database"] = str(roots.database)
    shown["secrets"] = str(roots.secrets)
    if daemon is not None and daemon.roots is not None:
        theirs = daemon.roots
        shown["daemon"] = {
            name: {"path": _their(theirs, name).path, "source": _their(theirs, name).source.value}
            for name in NAMES
        }
    if daemon is not None and daemon.sandbox_paths is not None:
        places = daemon.sandbox_paths
        found = {"launcher": places.launcher, "state": places.state, "runtime": places.runtime}
        told = {name: path for name, path in found.items() if path is not None}
        shown["daemon"] = {**shown.get("daemon", {}), "sandbox": told}
    return shown


def _their(roots: t.Roots, name: str) -> t.RootDir:
    found: t.RootDir = getattr(roots, name)
    return found


def _warn_about_others(run: Run, ours: Roots, theirs: t.Roots) -> None:
    """The daemon that answers may have been started with another environment."""
    for name, root in _all(ours):
        their = _their(theirs, name)
        if their.path != str(root.path):
            run.note(f"the daemon's {name} root is {their.path}: {FIX}")
