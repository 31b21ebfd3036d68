"""Git work trees, found by reading: which one holds a directory, and on which branch it is.

This follows git's own discovery step by step, so that a turn starts without a process: upwards from
the directory, to a `.git` that has the shape of a repository or points to one, on one file system,
below the ceilings, and only what belongs to this user (git refuses another owner's). A root at or
above home is guarded: it is told as such and never acted on. Only a branch that no file names (refs
in tables) is asked from git. Blocks on the file system.

Sources: gitrepository-layout(5), git-worktree(1), git(1) on GIT_CEILING_DIRECTORIES.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from msgspec import Struct

from efr.agent.git_config import is_true, read_config
from efr.policy.paths import holds

_ONE_LINE: Final = 8192  # bytes of `.git` files, HEAD and commondir that are read: one path each
_CONFIG: Final = 1 << 20  # bytes of a repository's config; its core section stands at the top
_HEAD: Final = re.compile(r"ref:\s*(refs/.+)|[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCHES: Final = "refs/heads/"
# What git leaves in a repository while it waits for the user to go on or to give up.
_UNDER_WAY: Final = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)
_TABLES: Final = "refs/heads/.invalid"  # what HEAD says when the refs are kept in tables


class AsksGit(Protocol):
    """Runs git where a read does not tell."""

    def branch(self, root: str) -> str | None: ...


class NotUsable(Exception):
    """There is a `.git`, but git refuses it: another owner's, or a pointer to nothing."""


class WorkTree(Struct, frozen=True):
    """A work tree. `common_dir` differs from `git_dir` in a linked one."""

    root: str
    git_dir: str
    common_dir: str
    guarded: bool = False  # at or above home


def find_work_tree(directory: str, homes: Sequence[str]) -> WorkTree | None:
    """The innermost work tree that holds a directory without links; None when git finds none.

    `homes` are the forms of home; they and `/` are ceilings. Raises OSError.
    """
    device = os.stat(directory).st_dev
    if not os.path.isdir(directory):
        return None
    for root in _upwards(directory):
        if root in ("/", *homes) and root != directory:
            return None
        if os.stat(root).st_dev != device:
            return None
        try:
            git_dir = _git_dir_at(root)
        except NotUsable:
            return None
        if git_dir is not None:
            return _work_tree(root, git_dir, homes)
        if is_git_dir(root):
            return None  # a bare repository, or the inside of a `.git`
    return None


def tree_at(root: str, homes: Sequence[str]) -> WorkTree | None:
    """The work tree of the `.git` right at a directory. Raises NotUsable, OSError."""
    git_dir = _git_dir_at(root)
    return None if git_dir is None else _work_tree(root, git_dir, homes)


def branch_of(tree: WorkTree, git: AsksGit) -> str | None:
    """The branch; None when HEAD is detached, or is named in no text."""
    try:
        ref = _head_ref(tree.git_dir)
    except (NotUsable, OSError):
        return None
    if ref == _TABLES:
        return git.branch(tree.root)
    if ref is None or not ref.startswith(_BRANCHES) or not _is_utf8(ref):
        return None
    return ref.removeprefix(_BRANCHES)


def under_way(tree: WorkTree) -> str | None:
    """The git command that is not done yet in this work tree, such as a rebase with a conflict."""
    there = (what for name, what in _UNDER_WAY if os.path.lexists(f"{tree.git_dir}/{name}"))
    return next(there, None)


def is_git_dir(path: str) -> bool:
    """Whether a directory has the shape of a repository. Never raises."""
    try:
        _head_ref(path)
        common = common_dir_of(path)
    except (NotUsable, OSError, ValueError):  # the last: no path can have that name
        return False
    return all(os.access(os.path.join(common, one), os.X_OK) for one in ("objects", "refs"))


def in_repository(path: str) -> bool:
    """Whether a path is a folder where git keeps a repository, or lies in one; of any name, as in
    a project with a `.bare` beside its work trees. Never raises.

    Files alone can make a folder one, in any order, and git then runs what its `config` says. None
    goes without a `HEAD`, so that one counts, and everything in a folder that has one.
    """
    return posixpath.basename(path).casefold() == "head" or any(map(_has_head, _upwards(path)))


def _has_head(path: str) -> bool:
    try:
        _head_ref(path)
    except (NotUsable, OSError, ValueError):  # the last: no path can have that name
        return False
    return True


def local_config(git_dir: str) -> dict[str, str]:
    """The repository's own settings; none when they cannot be read."""
    return _config_at(os.path.join(git_dir, "config"))


def _upwards(directory: str) -> Iterator[str]:
    path = PurePosixPath(directory)
    yield str(path)
    yield from map(str, path.parents)


def _git_dir_at(root: str) -> str | None:
    """The repository of a root's `.git`. Raises NotUsable, OSError."""
    entry = os.path.join(root, ".git")
    try:
        facts = os.stat(entry)
    except OSError:
        return None
    if stat.S_ISREG(facts.st_mode):
        pointed = pointed_to(root)
        if pointed is None:
            raise NotUsable
        git_dir = pointed
    elif is_git_dir(entry):
        git_dir = entry
    else:
        return None
    if any(os.lstat(one).st_uid != os.geteuid() for one in (root, entry, git_dir)):
        raise NotUsable
    return git_dir


def pointed_to(root: str) -> str | None:
    """The repository that a root's `.git` file points to, None when it points to none.

    Raises OSError.
    """
    line = _one_line(os.path.join(root, ".git"))
    if not line.startswith("gitdir: "):
        return None
    target = os.path.realpath(os.path.join(root, line.removeprefix("gitdir: ")))
    return target if is_git_dir(target) else None


def common_dir_of(git_dir: str) -> str:
    """Where the repository's objects and refs are: itself, or that of the main work tree."""
    link = os.path.join(git_dir, "commondir")
    try:
        if not stat.S_ISREG(os.stat(link).st_mode):
            return git_dir
        named = _one_line(link)
    except (FileNotFoundError, NotADirectoryError):
        return git_dir
    return os.path.realpath(os.path.join(git_dir, named))


def _head_ref(git_dir: str) -> str | None:
    """What HEAD names; None when it is detached. Raises NotUsable for what is no HEAD, OSError."""
    head = os.path.join(git_dir, "HEAD")
    if os.path.islink(head):
        target = os.readlink(head)
        if not target.startswith("refs/"):
            raise NotUsable
        return target
    if not stat.S_ISREG(os.stat(head).st_mode):
        raise NotUsable
    found = _HEAD.match(_one_line(head))
    if found is None:
        raise NotUsable
    return found[1]


def _work_tree(root: str, git_dir: str, homes: Sequence[str]) -> WorkTree | None:
    """The work tree of a repository found at `root`; None for a bare one."""
    common = common_dir_of(git_dir)
    settings = local_config(common)
    # A linked work tree takes neither of the two from the common file.
    own = {} if common != git_dir else settings
    if is_true(settings.get("extensions.worktreeconfig")):
        own = own | _config_at(os.path.join(git_dir, "config.worktree"))
    named = own.get("core.worktree")
    if named is not None:
        root = os.path.realpath(os.path.join(git_dir, named))
    elif is_true(own.get("core.bare")):
        return None
    if not _is_utf8(root):
        return None  # no message can name it
    return WorkTree(root, git_dir, common, guarded=any(holds(root, home) for home in homes))


def _config_at(path: str) -> dict[str, str]:
    try:
        with open(path, "rb") as file:
            return read_config(file.read(_CONFIG).decode("utf-8", "surrogateescape"))
    except OSError:
        return {}


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _one_line(path: str) -> str:
    """The first line of a small file, its bytes as a path. Raises OSError."""
    with Path(path).open("rb") as file:
        return os.fsdecode(file.read(_ONE_LINE).split(b"\n", 1)[0].rstrip(b"\r"))
