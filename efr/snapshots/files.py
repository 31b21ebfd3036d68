"""The files of one store on disk: where they are, how they begin, what a stop left behind.

A store is `<root id>.git` with `<root id>.index` and `<root id>.root` (the directory's path) beside
it. What git needs to take it for a repository is written by hand, so that a store costs no git.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from efr.base.files import make_private_dir, write_atomic
from efr.snapshots.choice import below
from efr.snapshots.outer import outer_patterns

UNBORN: Final = "ref: refs/heads/none\n"  # no commit to compare with yet
_CONFIG: Final = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
# Over every .gitattributes of the tree: no conversion, no filter, git's own idea of a binary file.
_ATTRIBUTES: Final = "* -text -ident !filter !working-tree-encoding !eol !diff !merge\n"
_EXCLUDE_BYTES: Final = 64 * 1024  # of a project's own info/exclude
_POINTER_BYTES: Final = 4096  # of a file that only names a path
_SPECIAL: Final = "\\*?["  # signs of a pattern (gitignore(5))
_INDEX_HEAD: Final = struct.Struct(">4sII")  # gitformat-index: DIRC, version, number of entries


class StoreFiles(Struct, frozen=True):
    """The paths of a directory's store."""

    root: str  # the directory, without links
    git: Path

    @property
    def index(self) -> Path:
        return self.git.with_suffix(".index")

    @property
    def ignored_index(self) -> Path:
        """Of the files that git ignores: they never mix with the others."""
        return self.git / "ignored.index"

    @property
    def name(self) -> Path:
        """The file that says which directory this is."""
        return self.git.with_suffix(".root")


def store_of(folder: Path, root: str) -> StoreFiles:
    """The store of a directory."""
    real = os.path.realpath(root)
    root_id = hashlib.sha256(os.fsencode(real)).hexdigest()[:16]
    return StoreFiles(real, folder / f"{root_id}.git")


def prepare(files: StoreFiles, left_alone: Sequence[str], home: str | None) -> None:
    """Makes what is missing and removes what a killed git left. Inside the store's gate.

    `left_alone`: absolute paths that no snapshot looks into; `home`: a repository there, or above
    it, says nothing of the directories in it. Raises OSError.
    """
    git = files.git
    make_private_dir(git.parent)
    for name in ("", "objects", "objects/pack", "objects/info", "refs", "info"):
        (git / name).mkdir(mode=0o700, exist_ok=True)
    _keep(git / "config", _CONFIG)
    _keep(git / "info" / "attributes", _ATTRIBUTES)
    _keep(files.name, files.root)
    os.utime(files.name)  # the collection takes this for the time of the last use
    if not (git / "HEAD").exists():
        write_atomic(git / "HEAD", UNBORN.encode())
    write_if_new(git / "info" / "exclude", _excludes(files.root, left_alone, home))
    remove_leftovers(files)


def remove_leftovers(files: StoreFiles) -> None:
    """Locks and temporary files of a git that was killed. Inside the gate: nobody else's."""
    git = files.git
    for path in (files.index, files.ignored_index, git / "HEAD", git / "packed-refs"):
        _unlink(path.with_name(path.name + ".lock"))
    for pattern in ("tmp_*", "objects/pack/tmp_*", "objects/pack/.tmp-*", "objects/tmp_*"):
        for path in git.glob(pattern):
            _unlink(path)


def remove_loose_leftovers(git: Path) -> None:
    """Temporary files among the loose objects, and empty ones: a power loss leaves those, and git
    takes them for whole. Too many folders to look into each time."""
    for path in git.glob("objects/??/*"):
        with suppress(OSError):
            if path.name.startswith("tmp_obj_") or path.stat().st_size == 0:
                path.unlink()


def forget(path: Path) -> None:
    """Removes a file that may not be there."""
    _unlink(path)


def start_over(files: StoreFiles) -> None:
    """Forgets what is known of the directory; the next snapshot reads all of it. Refs stay."""
    remove_loose_leftovers(files.git)
    _unlink(files.index)
    _unlink(files.ignored_index)
    with suppress(OSError):
        write_atomic(files.git / "HEAD", UNBORN.encode())


def entries_of(index: Path) -> int:
    """How many files an index has; 0 when there is none."""
    try:
        with index.open("rb") as file:
            sign, _, count = _INDEX_HEAD.unpack(file.read(_INDEX_HEAD.size))
    except (OSError, struct.error):
        return 0
    return int(count) if sign == b"DIRC" else 0


def signature(path: Path) -> tuple[int, int, int]:
    """Tells whether a file is still the one that it was; zeros when there is none."""
    try:
        seen = path.stat()
    except OSError:
        return 0, 0, 0
    return seen.st_ino, seen.st_size, seen.st_mtime_ns


def write_if_new(path: Path, content: bytes) -> None:
    """Writes a file unless it is so already."""
    try:
        if path.read_bytes() == content:
            return
    except OSError:
        pass
    write_atomic(path, content)


def _keep(path: Path, text: str) -> None:
    write_if_new(path, os.fsencode(text))


def _unlink(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


# What is never looked at ----------------------------------------------------------------------


def _excludes(root: str, left_alone: Sequence[str], home: str | None) -> bytes:
    """The project's own patterns or those of the repository around it, then the paths that are left
    alone."""
    own = _project_excludes(root) or outer_patterns(root, home, _small, _project_excludes)
    paths = sorted(below(root, left_alone))
    lines = [b"/" + os.fsencode(_literal(path)) for path in paths if "\n" not in path]
    return b"\n".join([own.rstrip(b"\n"), *lines, b""]).lstrip(b"\n")


def _literal(path: str) -> str:
    quoted = "".join(f"\\{sign}" if sign in _SPECIAL else sign for sign in path)
    return quoted[:-1] + "\\ " if quoted.endswith(" ") else quoted


def _project_excludes(root: str) -> bytes:
    """`info/exclude` of the project's repository, also of a linked work tree's."""
    git = os.path.join(root, ".git")
    try:
        if stat.S_ISREG(os.lstat(git).st_mode):
            named = os.fsdecode(_read(git, _POINTER_BYTES)).removeprefix("gitdir:").strip()
            git = os.path.join(root, named)
            common = os.fsdecode(_read_or_nothing(os.path.join(git, "commondir"), _POINTER_BYTES))
            git = os.path.join(git, common.strip())
    except (OSError, ValueError):
        return b""
    return _read_or_nothing(os.path.join(git, "info", "exclude"), _EXCLUDE_BYTES)


def _small(path: str) -> bytes:
    return _read_or_nothing(path, _EXCLUDE_BYTES)


def _read_or_nothing(path: str, most: int) -> bytes:
    try:
        return _read(path, most)
    except (OSError, ValueError):
        return b""


def _read(path: str, most: int) -> bytes:
    """A small regular file, never through a link. Raises OSError; a larger one gives nothing."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return b""
        content = file.read(most + 1)
    return content if len(content) <= most else b""
