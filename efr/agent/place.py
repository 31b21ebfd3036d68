"""Where a turn acts: machine, the root of a git work tree, or a registered project.

Derived anew for every turn from the user's directory and the registry as it is now, never kept.
Git is not run: a work tree is found by its `.git`, which must look like a repository of this user
(git too refuses another owner's). Home and everything above it is always the machine, so a
repository of dotfiles in `~` catches nothing. Blocks on the file system; any error means machine.
Source of the shapes: gitrepository-layout(5).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import Protocol

from efr.wire import types as t

_SMALL_FILE = 4096  # bytes of `.git` files and HEAD that are read: they hold one line
_BRANCH = "ref: refs/heads/"


class Basis(Enum):
    """Why the scope is what it is."""

    REGISTERED = "registered"
    HOME_OR_ROOT = "home_or_root"
    WORK_TREE = "work_tree"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True)
class Repo:
    """A work tree: its root, and the branch (None: detached, or not told)."""

    root: str
    branch: str | None


@dataclass(frozen=True)
class Project:
    """A registered project."""

    id: str
    root: str
    name: str | None = None

    @property
    def title(self) -> str:
        return self.name or PurePosixPath(self.root).name or self.root


class Projects(Protocol):
    """The registry of projects as it is now."""

    def all(self) -> tuple[Project, ...]: ...


class NoProjects:
    """A registry without projects."""

    def all(self) -> tuple[Project, ...]:
        return ()


@dataclass(frozen=True)
class Place:
    """The result of a derivation."""

    scope: t.Scope
    basis: Basis
    project: Project | None = None
    repo: Repo | None = None

    @property
    def route(self) -> t.RouteScope:
        """The key of a terminal's slot: machine and path are both outside."""
        if self.project is not None:
            return t.RouteProject(value=self.project.id)
        return t.RouteOutside()


def normal(path: str) -> str:
    """Lexical normal form: absolute, no `.`, `..` folded, nothing looked up."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def holds(root: str, path: str) -> bool:
    """Whether `path` is `root` or below it, compared by whole parts of normal forms."""
    return root in ("/", path) or path.startswith(root + "/")


def derive(directory: str, home: str, projects: Projects) -> Place:
    """The place of a user's directory. Blocks; never raises for what it finds."""
    if not directory.startswith("/"):
        return Place(t.ScopeMachine(), Basis.ELSEWHERE)
    forms = _forms(directory)
    homes = _forms(home)
    above_home = any(holds(form, one) for form in forms for one in homes)
    repo = None if above_home else find_repo(forms[-1], homes)
    if (project := _registered(forms, projects)) is not None:
        return Place(t.ScopeProject(value=project.id), Basis.REGISTERED, project, repo)
    if above_home:
        return Place(t.ScopeMachine(), Basis.HOME_OR_ROOT)
    if repo is not None:
        return Place(t.ScopePath(value=repo.root), Basis.WORK_TREE, None, repo)
    return Place(t.ScopeMachine(), Basis.ELSEWHERE)


def find_repo(directory: str, homes: tuple[str, ...]) -> Repo | None:
    """The innermost work tree of this user that holds the directory, below home's ceiling."""
    for root in _upwards(directory):
        if any(holds(root, home) for home in homes):
            return None
        try:
            git_dir = _git_dir(root)
        except (OSError, UnicodeDecodeError):
            return None
        if git_dir is not None:
            return Repo(root, _branch(git_dir))
    return None


def _forms(path: str) -> tuple[str, ...]:
    """The normal form and, when it differs and resolves, the real one."""
    given = normal(path)
    try:
        real = os.path.realpath(given, strict=True)
    except OSError:
        return (given,)
    return (given,) if real == given else (given, real)


def _registered(forms: tuple[str, ...], projects: Projects) -> Project | None:
    """The deepest registered root that holds a form; the given form first."""
    registry = projects.all()
    for form in forms:
        found = [one for one in registry if holds(normal(one.root), form)]
        if found:
            return max(found, key=lambda one: normal(one.root).count("/"))
    return None


def _upwards(directory: str) -> Iterator[str]:
    path = PurePosixPath(directory)
    yield str(path)
    yield from map(str, path.parents)


def _git_dir(root: str) -> Path | None:
    """The repository of a work tree root, None when there is none.

    Raises PermissionError when it is another user's: git refuses such a tree too.
    """
    entry = Path(root, ".git")
    try:
        facts = os.lstat(entry)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(facts.st_mode):
        facts = entry.stat()
    if os.stat(root).st_uid != os.geteuid() or facts.st_uid != os.geteuid():
        raise PermissionError(entry)
    if stat.S_ISREG(facts.st_mode):
        line = _first_line(entry)
        target = Path(root, line.removeprefix("gitdir:").strip())
        return target if line.startswith("gitdir:") and (target / "HEAD").is_file() else None
    folders = (entry / "objects", entry / "refs")
    return entry if (entry / "HEAD").is_file() and all(one.is_dir() for one in folders) else None


def _branch(git_dir: Path) -> str | None:
    try:
        head = _first_line(git_dir / "HEAD")
    except (OSError, UnicodeDecodeError):
        return None
    return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else None


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_SMALL_FILE).split(b"\n", 1)[0].decode()
