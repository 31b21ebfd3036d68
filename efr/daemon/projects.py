"""The registered projects, read from `projects.toml` each time they are asked for.

The file is small and the user may edit it at any time. For a turn a broken file means that there
is no project, with one warning per fault; a command that asks gets the fault itself. Nothing here
writes. Facts: docs/config.md, "Projects".
"""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import Annotated

import msgspec

from efr.agent.place import Project, normal
from efr.config.errors import ConfigError

_log = logging.getLogger("efr.daemon")

_UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: Annotated[str, msgspec.Meta(pattern=_UUID)]
    root: Annotated[str, msgspec.Meta(pattern="^/")]
    name: str | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    project: tuple[_Entry, ...] = ()


class ProjectRegistry:
    """The projects of one file. Any thread; blocks on the file system."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._warned: str | None = None

    def all(self) -> tuple[Project, ...]:
        """The projects of now; none when the file is broken."""
        try:
            found = self.read()
        except ConfigError as exc:
            if str(exc) != self._warned:
                self._warned = str(exc)
                _log.warning("no project is known: %s", exc)
            return ()
        self._warned = None
        return found

    def read(self) -> tuple[Project, ...]:
        """The projects in the order of the file. Raises ConfigError."""
        try:
            document = tomllib.loads(self._path.read_bytes().decode())
        except FileNotFoundError:
            return ()
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
            raise ConfigError(f"{self._path}: {exc}") from exc
        try:
            entries = msgspec.convert(document, _File).project
        except msgspec.ValidationError as exc:
            raise ConfigError(f"{self._path}: {exc}") from exc
        self._refuse_twice([entry.id for entry in entries])
        self._refuse_twice([normal(entry.root) for entry in entries])
        return tuple(Project(entry.id, normal(entry.root), entry.name) for entry in entries)

    def _refuse_twice(self, values: list[str]) -> None:
        for value in values:
            if values.count(value) > 1:
                raise ConfigError(f"{self._path}: {value} stands there twice")
