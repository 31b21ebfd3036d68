"""Where the four roots of efr are, as plain strings (docs/config.md, "Roots").

One rule for the daemon, the command and the plugin: a root's own variable, else `EFR_HOME`, else
the XDG folder; the runtime root falls back to `/run/user/<uid>/efr`. `roots` has the paths below
them. Light, because the command finds its socket by it before it loads anything large.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

_XDG = {
    "config": ("XDG_CONFIG_HOME", "/.config"),
    "data": ("XDG_DATA_HOME", "/.local/share"),
    "state": ("XDG_STATE_HOME", "/.local/state"),
}


class RootError(Exception):
    """A root cannot be found, or does not fit. `fix` names the variable that helps."""

    def __init__(self, why: str, fix: str) -> None:
        super().__init__(f"{why}; {fix}")
        self.why = why
        self.fix = fix


def root(env: Mapping[str, str], name: str) -> tuple[str, str]:
    """The root `config`, `data` or `state`, and its source. Raises RootError."""
    given = _given(env, name)
    if given is not None:
        return given
    variable, below_home = _XDG[name]
    xdg = env.get(variable, "")
    if os.path.isabs(xdg):
        return f"{_plain(xdg)}/efr", "xdg"
    home = env.get("HOME", "")
    if not os.path.isabs(home):
        raise RootError(f"no {name} directory: HOME is not set", f"set EFR_{name.upper()}_DIR")
    return f"{_plain(home)}{below_home}/efr", "xdg"


def runtime_root(env: Mapping[str, str], uid: int) -> tuple[str, str]:
    """The runtime root and its source. Raises RootError."""
    given = _given(env, "runtime")
    if given is not None:
        return given
    xdg = env.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(xdg):
        return f"{_plain(xdg)}/efr", "xdg"
    fallback = f"/run/user/{uid}"
    if _is_private_dir(fallback, uid):
        return f"{fallback}/efr", "run_user"
    raise RootError(
        f"no runtime directory: XDG_RUNTIME_DIR is not set and {fallback} is not a directory of "
        "yours with mode 0700",
        "set EFR_RUNTIME_DIR",
    )


def _given(env: Mapping[str, str], name: str) -> tuple[str, str] | None:
    variable = f"EFR_{name.upper()}_DIR"
    if own := env.get(variable, ""):
        return _absolute(variable, own) or "/", "dir_variable"
    if home := env.get("EFR_HOME", ""):
        return f"{_absolute('EFR_HOME', home)}/{name}", "efr_home"
    return None


def _absolute(variable: str, value: str) -> str:
    if not os.path.isabs(value):
        raise RootError(f"{variable} is {value!r}", f"set {variable} to an absolute path")
    return _plain(value)


def _plain(path: str) -> str:
    """As pathlib writes a path: no doubled slash, no dot, no slash at the end; "" for `/`."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return "".join(f"/{part}" for part in parts)


def _is_private_dir(path: str, uid: int) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return (
        stat.S_ISDIR(facts.st_mode) and facts.st_uid == uid and stat.S_IMODE(facts.st_mode) == 0o700
    )
