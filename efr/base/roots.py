"""The four roots of efr and the paths below them (docs/config.md, "Roots").

One rule for the daemon, the command and the plugin: a root's own variable, else `EFR_HOME`, else
the XDG folder; the runtime root falls back to `/run/user/<uid>/efr`. Nothing is created here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

SOCKET_PATH_LIMIT = 107  # bytes: sun_path of unix(7) without its NUL

_XDG = {
    "config": ("XDG_CONFIG_HOME", ".config"),
    "data": ("XDG_DATA_HOME", ".local/share"),
    "state": ("XDG_STATE_HOME", ".local/state"),
}


class RootError(Exception):
    """A root cannot be found, or does not fit. The message names the variable that helps."""


class Root(NamedTuple):
    """A root and where it came from: dir_variable, efr_home, xdg or run_user."""

    path: Path
    source: str


class Roots(NamedTuple):
    """The four roots and every path that efr names below them."""

    config: Root
    data: Root
    state: Root
    runtime: Root

    @property
    def config_file(self) -> Path:
        """The user's settings."""
        return self.config.path / "config.toml"

    @property
    def projects_file(self) -> Path:
        """The project registry."""
        return self.config.path / "projects.toml"

    @property
    def database(self) -> Path:
        """The one database."""
        return self.data.path / "efr.sqlite"

    @property
    def lock_file(self) -> Path:
        """Held by the daemon for its whole life."""
        return self.data.path / "daemon.lock"

    @property
    def daemon_id_file(self) -> Path:
        """The installation's id, made once."""
        return self.data.path / "daemon_id"

    @property
    def secrets(self) -> Path:
        """Credentials, one file per provider."""
        return self.data.path / "secrets"

    @property
    def recordings(self) -> Path:
        """What the hidden shells printed."""
        return self.data.path / "recordings"

    @property
    def scratch(self) -> Path:
        """Parent of every conversation's $SCRATCH."""
        return self.data.path / "scratch"

    @property
    def backups(self) -> Path:
        """Copies of the database from before a migration."""
        return self.data.path / "backups"

    @property
    def socket(self) -> Path:
        """Where clients connect."""
        return self.runtime.path / "daemon.sock"

    @property
    def daemon_json(self) -> Path:
        """A hint about the running daemon; decides nothing."""
        return self.runtime.path / "daemon.json"

    @property
    def notices(self) -> Path:
        """Lines for one terminal each."""
        return self.runtime.path / "notices"

    @property
    def drafts(self) -> Path:
        """Texts that go back to the shell."""
        return self.runtime.path / "drafts"

    @property
    def scopes(self) -> Path:
        """Roots and names of the projects, for the plugin."""
        return self.runtime.path / "scopes"

    @property
    def zsh(self) -> Path:
        """Start-up files of the hidden shells."""
        return self.runtime.path / "zsh"

    def check_socket_path(self) -> None:
        """Raises RootError when the socket's path is longer than the kernel takes."""
        size = len(os.fsencode(self.socket))
        if size > SOCKET_PATH_LIMIT:
            raise RootError(
                f"the socket path {self.socket} has {size} bytes, the limit is "
                f"{SOCKET_PATH_LIMIT}; set EFR_RUNTIME_DIR to a shorter directory"
            )


def find_roots(env: Mapping[str, str], uid: int) -> Roots:
    """The roots for this environment and user id. Raises RootError when one cannot be found."""
    return Roots(
        config=_root(env, "config"),
        data=_root(env, "data"),
        state=_root(env, "state"),
        runtime=runtime_root(env, uid),
    )


def runtime_root(env: Mapping[str, str], uid: int) -> Root:
    """The runtime root alone: what a client needs to find the socket."""
    given = _given(env, "runtime")
    if given is not None:
        return given
    xdg = env.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(xdg):
        return Root(Path(xdg) / "efr", "xdg")
    fallback = Path(f"/run/user/{uid}")
    if _is_private_dir(fallback, uid):
        return Root(fallback / "efr", "run_user")
    raise RootError(
        f"no runtime directory: XDG_RUNTIME_DIR is not set and {fallback} is not a directory of "
        "yours with mode 0700; set EFR_RUNTIME_DIR"
    )


def _root(env: Mapping[str, str], name: str) -> Root:
    given = _given(env, name)
    if given is not None:
        return given
    variable, below_home = _XDG[name]
    xdg = env.get(variable, "")
    if os.path.isabs(xdg):
        return Root(Path(xdg) / "efr", "xdg")
    home = env.get("HOME", "")
    if not os.path.isabs(home):
        raise RootError(f"no {name} directory: HOME is not set; set EFR_{name.upper()}_DIR")
    return Root(Path(home) / below_home / "efr", "xdg")


def _given(env: Mapping[str, str], name: str) -> Root | None:
    variable = f"EFR_{name.upper()}_DIR"
    if own := env.get(variable, ""):
        return Root(_absolute(variable, own), "dir_variable")
    if home := env.get("EFR_HOME", ""):
        return Root(_absolute("EFR_HOME", home) / name, "efr_home")
    return None


def _absolute(variable: str, value: str) -> Path:
    if not os.path.isabs(value):
        raise RootError(f"{variable} is {value!r}; it must be an absolute path")
    return Path(value)


def _is_private_dir(path: Path, uid: int) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return (
        stat.S_ISDIR(facts.st_mode) and facts.st_uid == uid and stat.S_IMODE(facts.st_mode) == 0o700
    )
