"""The projects of the running daemon: the registry, the places it makes, and what terminals read.

The plugin shows the scope of a directory without asking: it reads `<runtime>/scopes`, one line per
project with its root, a tab and its name. The file is written at the start, after each change and
reload, and when a turn finds the registry changed by hand. It is a hint: a fault costs a warning.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from efr.agent.git import Git
from efr.agent.place import Look, Places, home_forms
from efr.agent.worktrees import Worktrees
from efr.base.files import make_private_dir, write_atomic
from efr.base.ids import Ids
from efr.base.roots import Roots
from efr.config.project_text import Project
from efr.config.projects import ProjectRegistry
from efr.text.visible import visible_line

_log = logging.getLogger("efr.daemon")


class ScopesFile:
    """The registry as turns see it, and the file that follows it. Any thread."""

    def __init__(self, path: Path, registry: ProjectRegistry) -> None:
        self._path = path
        self._registry = registry
        self._written: tuple[Project, ...] | None = None
        self._writing = threading.Lock()  # "scopes": held over a read of the registry and the
        # write of what it said, so that the newest always comes last

    def all(self) -> tuple[Project, ...]:
        """The projects of now."""
        found = self._registry.all()
        if found != self._written:
            self.refresh()
        return found

    def refresh(self) -> None:
        """Writes the file when the projects are not those that it has."""
        with self._writing:
            found = self._registry.all()
            if found == self._written:
                return
            try:
                make_private_dir(self._path.parent)
                write_atomic(self._path, scope_lines(found))
            except OSError as exc:
                _log.warning("the terminals do not hear of the projects: %s", exc)
            self._written = found


def scope_lines(projects: tuple[Project, ...]) -> bytes:
    """The file's bytes. A root with a tab or a line end in it has no line."""
    fit = (one for one in projects if not {"\t", "\n"} & set(one.root))
    return "".join(f"{one.root}\t{visible_line(one.title)}\n" for one in fit).encode()


class KnownProjects(Struct, frozen=True):
    """What methods and the agent work with."""

    registry: ProjectRegistry
    scopes: ScopesFile
    places: Places
    worktrees: Worktrees


def known_projects(
    roots: Roots, home: str, env: Mapping[str, str], ids: Ids, look: Look
) -> KnownProjects:
    """Composes them; nothing is read or written yet."""
    registry = ProjectRegistry(roots.projects_file, ids)
    scopes = ScopesFile(roots.scopes, registry)
    git = Git(env, home_forms(home))
    places = Places(home, scopes, git=git, look=look, data_home=env.get("XDG_DATA_HOME"))
    worktrees = Worktrees(roots.state.path / "sandbox" / "projects")
    return KnownProjects(registry, scopes, places, worktrees)
