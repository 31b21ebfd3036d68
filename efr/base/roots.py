"""The four roots of efr and the paths below them (docs/config.md, "Roots").

Where a root is, is `root_rules`. Nothing is created here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from efr.base import root_rules
from efr.base.root_rules import RootError

__all__ = ["SOCKET_PATH_LIMIT", "Root", "RootError", "Roots", "find_roots", "runtime_root"]

SOCKET_PATH_LIMIT = 107  # bytes: sun_path of unix(7) without its NUL


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
    def database_files(self) -> tuple[Path, ...]:
        """The database and what SQLite keeps beside it while it is open."""
        path = self.database
        return path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")

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
    def snapshots(self) -> Path:
        """Shadow git stores."""
        return self.data.path / "snapshots"

    @property
    def write_journal(self) -> Path:
        """Which files a call is writing, for the start after a stop in the middle. It is among the
        data, where no tool writes: the start believes it."""
        return self.data.path / "write-journal"

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
                f"the socket path {self.socket} has {size} bytes, the limit is {SOCKET_PATH_LIMIT}",
                "set EFR_RUNTIME_DIR to a shorter directory",
            )


def find_roots(env: Mapping[str, str], uid: int) -> Roots:
    """The roots for this environment and user id. Raises RootError when one cannot be found."""
    return Roots(
        config=_root(root_rules.root(env, "config")),
        data=_root(root_rules.root(env, "data")),
        state=_root(root_rules.root(env, "state")),
        runtime=runtime_root(env, uid),
    )


def runtime_root(env: Mapping[str, str], uid: int) -> Root:
    """The runtime root alone: what a client needs to find the socket."""
    return _root(root_rules.runtime_root(env, uid))


def _root(found: tuple[str, str]) -> Root:
    path, source = found
    return Root(Path(path), source)
