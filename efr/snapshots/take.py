"""Takes one snapshot. Inside the store's gate; blocks on git and the file system.

`git status` names what differs from the store's index in one walk; only that is read. What is new
goes into the index and becomes a tree. The ignored files have an index and a tree of their own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from efr.snapshots import files as disk
from efr.snapshots.choice import (
    Chosen,
    Limits,
    choose,
    choose_ignored,
    left_out_text,
    parse_status,
)
from efr.snapshots.errors import GitFailed, GitMissing, NotTaken
from efr.snapshots.files import StoreFiles
from efr.snapshots.git import Budget, Git
from efr.snapshots.objects import (
    EMPTY_TREE,
    write_commit,
    write_head,
    write_object,
    write_ref,
    write_tree,
)
from efr.snapshots.snapshot import Snapshot

LOOK_S: Final = 10.0  # for the walk alone: a home with millions of files is given up early
# From so many files on git writes them into one pack and not into a file each.
_PACK_FROM: Final = 200
# What a batch read is kept: a first snapshot that was too slow goes on there with the next try.
# git looks through all of a batch for each file, and through all packs: more or fewer is slower.
_BATCH: Final = 5000
_BATCH_BYTES: Final = 256 << 20  # some seconds
_PUT: Final = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
_TO_PACK: Final = "core.bigFileThreshold=1"
# Files that are left out, for they change while git reads them; more mean that the store is broken.
_MOVING: Final = 8
_STATUS: Final = (
    "status",
    "--porcelain",
    "-z",
    "--no-renames",
    "--untracked-files=all",
    "--ignore-submodules=all",
)

IN_USE: Final = "refs/efr-live/ignored"

Signature = tuple[int, int, int]


class Known(Struct):
    """What is remembered of a store between snapshots. It only saves work."""

    index: Signature = (0, 0, 0)
    tree: str = ""  # of that index
    head: str = ""
    ignored: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    ignored_tree: str = ""


class TooMany(NotTaken):
    """The directory has more files than a snapshot may have."""


class Taker:
    """Takes snapshots of one directory."""

    def __init__(
        self,
        files: StoreFiles,
        path: str,
        limits: Limits,
        known: Known,
        left_alone: frozenset[str],
    ) -> None:
        """`left_alone`: relative paths that no snapshot holds."""
        self._files = files
        self._git = Git(files.git, files.index, files.root, path)
        self._limits = limits
        self._known = known
        self._left_alone = left_alone

    def take(self, budget: Budget, *, whole: bool) -> Snapshot:
        """`whole`: the ignored files too. Raises GitFailed, GitTimedOut, OSError, TooMany,
        Cancelled."""
        whole = whole and self._limits.ignored
        kind = "matching" if whole else "no"
        out = self._git.run(*_STATUS, f"--ignored={kind}", budget=budget.at_most(LOOK_S))
        changed, ignored = parse_status(out)
        self._check_count(changed)
        chosen = choose(self._files.root, changed, self._limits, self._left_alone)
        tree, moving = self._tree(chosen, budget)
        skipped = chosen.skipped + moving
        ignored_tree = None
        count = disk.entries_of(self._files.index)
        if whole:
            ignored_tree, more, left = self._ignored(ignored, budget)
            count, skipped = count + more, skipped + left
        return Snapshot(self._files.root, tree, ignored_tree, chosen.large, count, skipped)

    def _check_count(self, changed: Sequence[tuple[str, str]]) -> None:
        new = sum(1 for code, _ in changed if code == "??")
        gone = sum(1 for code, _ in changed if code[1] == "D")
        if disk.entries_of(self._files.index) + new - gone > self._limits.max_files:
            raise TooMany(self._files.root, f"more than {self._limits.max_files} files")

    def _tree(self, chosen: Chosen, budget: Budget) -> tuple[str, int]:
        """The tree, and how many files could not be read."""
        index, moving = self._files.index, 0
        if chosen.put or chosen.drop:
            parts = batches(chosen.put, chosen.sizes)
            moving = _update(self._git, parts, chosen.drop, budget)
        elif self._known.tree and disk.signature(index) == self._known.index:
            return self._known.tree, 0
        tree = _write_tree(self._git, budget)
        self._known.index, self._known.tree = disk.signature(index), tree
        if tree != self._known.head:
            # What `git status` compares with: without it every file would be news each time.
            commit = write_commit(self._files.git, tree, "the newest snapshot", 0)
            write_head(self._files.git, commit)
            self._known.head = tree
        return tree, moving

    def _ignored(self, named: Sequence[str], budget: Budget) -> tuple[str, int, int]:
        """The tree of the ignored files, how many are in it, how many are left out."""
        wanted = choose_ignored(self._files.root, named, self._left_alone)
        known = self._known
        if known.ignored_tree and wanted.files == known.ignored:
            return known.ignored_tree, len(wanted.files), wanted.skipped
        git, moving = self._git.with_index(self._files.ignored_index), 0
        if not wanted.files:
            disk.forget(self._files.ignored_index)
            tree = EMPTY_TREE
        else:
            held = os.fsdecode(git.run("ls-files", "-z", budget=budget)).split("\0")[:-1]
            drop = [path for path in held if path not in wanted.files]
            moving = _update(git, batches(list(wanted.files), {}), drop, budget)
            tree = _write_tree(git, budget)
        # No turn may name this tree; without a name it would go while it is still of use.
        write_object(self._files.git, "tree", b"")
        commit = write_commit(self._files.git, tree, "the newest ignored files", 0)
        write_ref(self._files.git, IN_USE, commit)
        known.ignored, known.ignored_tree = wanted.files, tree if not moving else ""
        return tree, len(wanted.files) - moving, wanted.skipped + moving


def batches(put: Sequence[str], sizes: Mapping[str, int]) -> list[Sequence[str]]:
    """The paths in parts, in their order; `sizes` are the bytes of those that are not small."""
    parts: list[Sequence[str]] = []
    start = filled = 0
    for at, path in enumerate(put):
        size = sizes.get(path, 0)
        if at - start == _BATCH or (at > start and filled + size > _BATCH_BYTES):
            parts.append(put[start:at])
            start, filled = at, 0
        filled += size
    return [*parts, put[start:]] if put else []


def _update(git: Git, put: Sequence[Sequence[str]], drop: Sequence[str], budget: Budget) -> int:
    """Brings the index to date; returns how many files could not be read."""
    if drop:
        git.run("update-index", "-z", "--force-remove", "--stdin", budget=budget, given=_list(drop))
    settings = (_TO_PACK,) if sum(map(len, put)) >= _PACK_FROM else ()
    waiting = [*reversed(put)]
    moving = 0
    while waiting:
        part = waiting.pop()
        try:
            git.run(*_PUT, budget=budget, given=_list(part), settings=settings)
        except GitMissing:
            raise
        except GitFailed:
            # A file that changes while it is read ends git, which then has kept nothing of the
            # part: the halves find the one.
            moving += len(part) == 1
            if moving > _MOVING:
                raise
            half = len(part) // 2
            waiting += [part[half:], part[:half]] if half else []
    return moving


def _list(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _write_tree(git: Git, budget: Budget) -> str:
    return git.run("write-tree", budget=budget).decode().strip()


# What a commit of a snapshot holds --------------------------------------------------------------

FILES: Final = "files"
IGNORED: Final = "ignored"
LEFT_OUT: Final = "left-out"


def write_snapshot(files: StoreFiles, snapshot: Snapshot, at_us: int) -> str:
    """A commit with the snapshot's trees and its left-out files. Raises OSError."""
    store = files.git
    trees = {FILES: snapshot.files}
    if snapshot.ignored is not None:
        trees[IGNORED] = snapshot.ignored
    if EMPTY_TREE in trees.values():
        write_object(store, "tree", b"")
    entries = [("40000", name, tree) for name, tree in trees.items()]
    left_out = os.fsencode(left_out_text(snapshot.large))
    entries.append(("100644", LEFT_OUT, write_object(store, "blob", left_out)))
    message = f"{snapshot.count} files, {snapshot.skipped} left out"
    return write_commit(store, write_tree(store, entries), message, at_us)
