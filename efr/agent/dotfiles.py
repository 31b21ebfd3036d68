"""Where the user's dotfiles are kept in git: told to the model, never a scope.

Three layouts: a work tree at home itself, yadm, and a bare repository whose work tree is home.
Found by reading, anew for each turn; blocks on the file system, never raises. A bare repository
that is used only with `--work-tree` leaves nothing to find.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum

from msgspec import Struct

from efr.agent.repos import NotUsable, is_git_dir, local_config, tree_at
from efr.policy.paths import normal


class Layout(Enum):
    """How the dotfiles are kept."""

    HOME = "a git work tree at home"
    YADM = "yadm"
    BARE = "a bare git repository"


class Dotfiles(Struct, frozen=True):
    """One repository of dotfiles."""

    layout: Layout
    git_dir: str


def find_dotfiles(homes: tuple[str, ...], data_home: str | None) -> tuple[Dotfiles, ...]:
    """Every layout that is there: home's own, yadm's, then the bare ones by name.

    `homes` are the forms of home, the given one first; `data_home` is XDG_DATA_HOME.
    """
    return (*_at_home(homes), *_yadm(homes[0], data_home), *_bare(homes))


def _at_home(homes: tuple[str, ...]) -> Iterator[Dotfiles]:
    entry = os.path.join(homes[0], ".git")
    if not os.path.lexists(entry):
        return
    try:
        tree = tree_at(homes[-1], homes)
    except (NotUsable, OSError):
        return
    if tree is not None and tree.root in homes:
        yield Dotfiles(Layout.HOME, entry)


def _yadm(home: str, data_home: str | None) -> Iterator[Dotfiles]:
    absolute = data_home if data_home and os.path.isabs(data_home) else f"{home}/.local/share"
    for folder in (f"{absolute}/yadm", f"{home}/.config/yadm", f"{home}/.yadm"):
        git_dir = os.path.join(folder, "repo.git")
        if is_git_dir(git_dir):
            yield Dotfiles(Layout.YADM, git_dir)


def _bare(homes: tuple[str, ...]) -> Iterator[Dotfiles]:
    try:
        names = sorted(os.listdir(homes[0]))
    except OSError:
        return
    for name in names:
        git_dir = os.path.join(homes[0], name)
        if not name.startswith(".") or name == ".git" or not is_git_dir(git_dir):
            continue
        named = local_config(git_dir).get("core.worktree")
        if named is not None and _is_home(named, git_dir, homes):
            yield Dotfiles(Layout.BARE, git_dir)


def _is_home(named: str, git_dir: str, homes: tuple[str, ...]) -> bool:
    if named == "~" or named.startswith("~/"):
        named = homes[0] + named[1:]
    path = os.path.join(git_dir, named)
    return normal(path) in homes or os.path.realpath(path) in homes
