"""Where a turn acts: machine, the root of a git work tree, or a registered project.

Derived anew for every turn from the user's directory and the registry as it is now, never kept.
Home and everything above it is always the machine, so a repository of dotfiles in `~` catches
nothing. A look at a file system that does not answer ends after some seconds: then the text of the
directory alone decides, and that is the machine unless a registered root holds it. `Places` blocks;
any thread. Work trees are found in `repos.py`; the registry is `efr.config.projects`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from enum import Enum
from typing import Protocol, TypeVar

from msgspec import Struct

from efr.agent.dotfiles import Dotfiles, find_dotfiles
from efr.agent.instructions import File, read_files
from efr.agent.repos import AsksGit, WorkTree, branch_of, find_work_tree, under_way
from efr.base.cancel import Cancel
from efr.config.project_text import Project
from efr.policy.paths import holds, normal
from efr.wire import types as t

log = logging.getLogger("efr.agent")

T = TypeVar("T")


class Basis(Enum):
    """Why the scope is what it is."""

    REGISTERED = "registered"
    HOME_OR_ROOT = "home_or_root"
    WORK_TREE = "work_tree"
    ELSEWHERE = "elsewhere"


class Repo(Struct, frozen=True):
    """A work tree: its root, the branch (None: detached, or not told), and the git command that is
    not done in it."""

    root: str
    branch: str | None
    under_way: str | None = None


class Projects(Protocol):
    """The registry of projects as it is now."""

    def all(self) -> tuple[Project, ...]: ...


class NoProjects:
    """A registry without projects."""

    def all(self) -> tuple[Project, ...]:
        return ()


class TellsGit(AsksGit, Protocol):
    """What git tells of a place."""

    def status(self, root: str, cancel: Cancel) -> list[str]:
        """The lines of a short status; none when git tells nothing. Raises GitTooSlow."""
        ...


class NoGit:
    """Nobody asks git: a branch that no file names has no name, and no work tree a status."""

    def branch(self, root: str) -> str | None:
        return None

    def status(self, root: str, cancel: Cancel) -> list[str]:
        return []


class LookTimedOut(Exception):
    """The file system did not answer in time."""


class Look(Protocol):
    """Runs a look at the file system so that the caller does not hang with it."""

    def __call__(self, what: str, fn: Callable[[], T]) -> T:
        """What `fn` returns or raises; LookTimedOut when it takes too long. `what` names it."""
        ...


def look_at_once(what: str, fn: Callable[[], T]) -> T:
    """On the caller's thread, without a limit."""
    return fn()


class Place(Struct, frozen=True):
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


class _Forms(Struct, frozen=True):
    """A directory as it was given, without links, and those two with home in its other form."""

    given: str
    real: str | None  # None: it does not resolve
    swapped: tuple[str, ...] = ()

    @property
    def own(self) -> tuple[str, ...]:
        if self.real is None or self.real == self.given:
            return (self.given,)
        return (self.given, self.real)


class Places:
    """Tells the place of a directory."""

    def __init__(
        self,
        home: str,
        projects: Projects,
        *,
        git: TellsGit | None = None,
        look: Look = look_at_once,
        data_home: str | None = None,
    ) -> None:
        """`data_home` is XDG_DATA_HOME, where yadm keeps its repository."""
        self.home = home
        self.projects = projects
        self._git = git or NoGit()
        self._look = look
        self._data_home = data_home

    def of(self, directory: str) -> Place:
        """The place of a user's directory. Never raises for what it finds."""
        if not directory.startswith("/"):
            return Place(t.ScopeMachine(), Basis.ELSEWHERE)
        try:
            return self._look(directory, lambda: self._derive(directory))
        except LookTimedOut:
            log.warning("%s does not answer; its place is told by its name", directory)
        project = _registered((normal(directory),), self.projects)
        return _place(project, None, Basis.ELSEWHERE)

    def project_now(self, begun: Place, directory: str) -> Project | None:
        """The project of a turn as the registry is now, so that one added or taken out meanwhile
        counts. By the directory's name alone: a link changed meanwhile leads into no project."""
        given = (normal(directory),)
        found = _registered((*given, *_swapped(given, home_forms(self.home))), self.projects)
        if found is not None:
            return found
        return begun.project if begun.project in self.projects.all() else None

    def dotfiles(self) -> tuple[Dotfiles, ...]:
        """Where the user's dotfiles are kept in git; nothing when home does not answer."""
        try:
            return self._look(
                self.home, lambda: find_dotfiles(home_forms(self.home), self._data_home)
            )
        except LookTimedOut:
            return ()

    def work_tree(self, directory: str) -> WorkTree | None:
        """The work tree that holds a directory without links, the guarded ones too.

        Raises LookTimedOut.
        """
        return self._look(directory, lambda: _found(directory, home_forms(self.home)))

    def git_status(self, root: str, cancel: Cancel) -> list[str]:
        """What git says of the work tree at a project's root; nothing when it is none, or when
        the tree is all of home. Raises GitTooSlow."""
        if self.is_at_or_above_home(root):
            return []
        return self._git.status(root, cancel)

    def instructions(self, project: Project, directory: str) -> tuple[File, ...]:
        """The project's instructions for a directory; none when the file system does not answer
        in time."""
        try:
            return self._look(project.root, lambda: read_files(project, directory))
        except LookTimedOut:
            log.warning("%s does not answer; its instructions are not read", project.root)
            return ()

    def looked_up(self, directory: str, find: Callable[[], str]) -> str:
        """The directory that `find` makes of this one; itself when its file system does not answer
        in time."""
        try:
            return self._look(directory, find)
        except LookTimedOut:
            log.warning("%s does not answer; it is taken as it was", directory)
            return directory

    def is_at_or_above_home(self, path: str) -> bool:
        """Whether a directory holds home, in either form of home."""
        return any(holds(normal(path), home) for home in home_forms(self.home))

    def _derive(self, directory: str) -> Place:
        homes = home_forms(self.home)
        forms = _forms(directory, homes)
        above_home = any(holds(form, home) for form in forms.own for home in homes)
        tree = None
        if not above_home and forms.real is not None:
            tree = _found(forms.real, homes)
        repo = None
        if tree is not None and not tree.guarded:
            repo = Repo(tree.root, branch_of(tree, self._git), under_way(tree))
        guarded = above_home or (tree is not None and tree.guarded)
        project = _registered((*forms.own, *forms.swapped), self.projects)
        return _place(project, repo, Basis.HOME_OR_ROOT if guarded else Basis.ELSEWHERE)


def home_forms(home: str) -> tuple[str, ...]:
    """Home as it is given, and without links when that differs."""
    return _forms(home, ()).own


def _place(project: Project | None, repo: Repo | None, otherwise: Basis) -> Place:
    if project is not None:
        return Place(t.ScopeProject(value=project.id), Basis.REGISTERED, project, repo)
    if repo is not None:
        return Place(t.ScopePath(value=repo.root), Basis.WORK_TREE, None, repo)
    return Place(t.ScopeMachine(), otherwise)


def _found(directory: str, homes: tuple[str, ...]) -> WorkTree | None:
    try:
        return find_work_tree(directory, homes)
    except OSError:
        return None


def _forms(path: str, homes: tuple[str, ...]) -> _Forms:
    given = normal(path)
    try:
        real: str | None = os.path.realpath(given, strict=True)
    except OSError:
        real = None
    return _Forms(given, real, _swapped(_Forms(given, real).own, homes))


def _swapped(forms: tuple[str, ...], homes: tuple[str, ...]) -> tuple[str, ...]:
    """Paths below one form of home as they are called below the other."""
    return tuple(
        normal(other + form[len(home) :])
        for form in forms
        for home in homes
        for other in homes
        if home != other and holds(home, form)
    )


def _registered(forms: tuple[str, ...], projects: Projects) -> Project | None:
    """The deepest registered root that holds a form; the first form that has one counts."""
    registry = projects.all()
    for form in forms:
        found = [one for one in registry if holds(one.root, form)]
        if found:
            return max(found, key=lambda one: one.root.rstrip("/").count("/"))
    return None
