"""The registry of projects: `projects.toml`, read each time it is asked for, changed by efrd alone.

The file is small and the user may edit it at any time. For a turn a broken file means that there
is no project, with one warning per fault; a command that asks gets the fault itself. A change goes
to the end of a link, in one rename, and only onto the text that it was made from. Any thread;
blocks on the file system. The text itself is `project_text.py`. Facts: docs/config.md, "Projects".
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from efr.base.files import make_private_dir, write_atomic
from efr.base.ids import Ids
from efr.config.errors import AlreadyRegistered, ConfigError, FileChanged, NoSuchProject
from efr.config.project_text import HEAD, Project, added, parse, removed
from efr.policy.paths import normal

_log = logging.getLogger("efr.config")

_TRIES = 3  # plans of one change; a file that changes faster is being written by somebody else

# The new text and the project that came or went, made from the text and its projects of now.
_Plan = Callable[[str, tuple[Project, ...]], tuple[str, Project]]


class Change(Struct, frozen=True):
    """What a change did: the project that came or went, and the file that was written."""

    project: Project
    file: Path


class ProjectRegistry:
    """The projects of one file."""

    def __init__(self, path: Path, ids: Ids) -> None:
        self.path = path
        self._ids = ids
        self._warned: str | None = None
        self._told: Callable[[str], None] = lambda fault: None
        self._changing = threading.Lock()  # "registry": held over one change, which reads and
        # writes the file, so that one follows another; a command waits for its turn

    def on_fault(self, listener: Callable[[str], None]) -> None:
        """Calls `listener` once for each new fault, on the thread that found it."""
        self._told = listener

    def all(self) -> tuple[Project, ...]:
        """The projects of now; none when the file is broken."""
        try:
            found = self.read()
        except ConfigError as exc:
            if str(exc) != self._warned:
                self._warned = str(exc)
                _log.warning("no project is known: %s", exc)
                self._told(str(exc).removeprefix(f"{self.path}: "))
            return ()
        self._warned = None
        return found

    def read(self) -> tuple[Project, ...]:
        """The projects in the order of the file. Raises ConfigError."""
        return self._parsed(self._text(self.path) or "")

    def add(self, root: str, name: str) -> Change:
        """Registers a root, which is resolved and exists. Raises ConfigError, AlreadyRegistered,
        FileChanged, OSError."""

        def plan(text: str, projects: tuple[Project, ...]) -> tuple[str, Project]:
            known = next((one for one in projects if one.root == normal(root)), None)
            if known is not None:
                raise AlreadyRegistered(root=known.root, name=known.title)
            project = Project(self._ids.new(), normal(root), name)
            return added(text, project), project

        return self._change(plan)

    def remove(self, *forms: str) -> Change:
        """Takes out the project whose root is the first of these paths that one has.

        Raises ConfigError, NoSuchProject, FileChanged, OSError.
        """

        def plan(text: str, projects: tuple[Project, ...]) -> tuple[str, Project]:
            roots = [one.root for one in projects]
            for form in map(normal, forms):
                if form in roots:
                    index = roots.index(form)
                    return removed(text, index), projects[index]
            raise NoSuchProject(path=forms[0])

        return self._change(plan)

    def _change(self, plan: _Plan) -> Change:
        with self._changing:
            target = self._target()
            for _ in range(_TRIES):
                before = self._text(target)
                text = HEAD if before is None else before
                try:
                    after, project = plan(text, self._parsed(text))
                except ConfigError as exc:
                    raise self._named(exc) from exc
                if self._text(target) == before:
                    make_private_dir(target.parent)
                    write_atomic(target, after.encode())
                    return Change(project, target)
            raise FileChanged(path=target)

    def _target(self) -> Path:
        """The file behind a link. Raises ConfigError for a link that leads nowhere."""
        if not self.path.is_symlink():
            return self.path
        try:
            return Path(os.path.realpath(self.path, strict=True))
        except OSError as exc:
            raise ConfigError(f"{self.path}: the link leads to no file") from exc

    def _text(self, path: Path) -> str | None:
        """The file's text; None when there is none. Raises ConfigError."""
        try:
            if not path.is_file() and path.exists():  # a pipe would block
                raise ConfigError(f"{self.path}: it is no regular file")
            return path.read_bytes().decode()
        except FileNotFoundError:
            return None
        except UnicodeDecodeError as exc:
            raise ConfigError(f"{self.path}: it is not UTF-8 (byte {exc.start})") from exc
        except OSError as exc:
            raise ConfigError(f"{self.path}: {exc.strerror}") from exc

    def _parsed(self, text: str) -> tuple[Project, ...]:
        try:
            return parse(text)
        except ConfigError as exc:
            raise self._named(exc) from exc

    def _named(self, exc: ConfigError) -> ConfigError:
        named = str(exc).startswith(f"{self.path}: ")
        return exc if named else ConfigError(f"{self.path}: {exc}")
