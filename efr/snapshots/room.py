"""The door of the room: takes, keeps and compares snapshots of directories. Any thread; blocks.

One operation at a time for each store. A directory that has too many files or takes too long is
left alone for some minutes, so that not every turn waits for it. A failed snapshot is an answer
(`NotTaken`) and never stops a turn.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Final
from weakref import ref

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.snapshots import files as disk
from efr.snapshots.choice import Limits, below
from efr.snapshots.collect import Collection
from efr.snapshots.compare import CutText, changes, empty_of, load, write_patch
from efr.snapshots.errors import GitFailed, GitMissing, GitTimedOut, NotTaken
from efr.snapshots.files import StoreFiles, store_of
from efr.snapshots.gates import Gates
from efr.snapshots.git import Budget, Git
from efr.snapshots.objects import write_ref
from efr.snapshots.snapshot import Change, Snapshot
from efr.snapshots.take import Known, Taker, TooMany, write_snapshot

log = logging.getLogger("efr.snapshots")

LIMIT_S: Final = 30.0  # for one snapshot
AGAIN_S: Final = 600.0  # a directory that is too large is counted again then
_TOO_SLOW: Final = "it takes too long"


class Snapshots:
    """The stores below one folder."""

    def __init__(
        self,
        folder: Path,
        path: str,
        clock: Clock,
        left_alone: Callable[[], Sequence[str]],
        marker: str,
        home: str | None = None,
    ) -> None:
        """`path`: where git is looked for. `left_alone`: absolute paths that no snapshot holds,
        such as efr's own folders. `marker`: likewise, a file at a directory's top. `home`: a
        repository there ignores nothing for the directories in it."""
        self.folder = folder
        self.gates = Gates()
        self._path = path
        self._clock = clock
        self._left_alone = left_alone
        self._marker = marker
        self._home = None if home is None else os.path.realpath(home)
        self._lock = Lock()  # "snapshots": the three below
        self._known: dict[str, Known] = {}
        self._paused: dict[str, tuple[float, str]] = {}  # until when, and why
        self._given: dict[str, list[ref[Snapshot]]] = {}  # whoever still holds one may compare it

    def take(
        self,
        root: str,
        limits: Limits,
        *,
        whole: bool,
        limit_s: float = LIMIT_S,
        cancel: Cancel | None = None,
    ) -> Snapshot:
        """The directory as it is now; `whole`: with the ignored files. Raises NotTaken, and
        Cancelled when `cancel` is."""
        if cancel is not None:
            cancel.raise_if_cancelled()
        store = store_of(self.folder, root)
        budget = self._budget(limit_s, cancel)
        self._check_pause(store)
        with self.gates.enter(store.git.name, budget.left_s) as entered:
            if not entered:
                raise NotTaken(root, "another snapshot of it takes too long")
            if not store.git.exists() and self._is_bare(store.root):
                return empty_of(store.root)
            try:
                taken = self._take_or_start_over(store, limits, budget, whole=whole)
                self._give(store.git.name, taken)
                return taken
            except TooMany as exc:
                self._pause(store, exc.why)
                raise
            except GitTimedOut as exc:
                disk.remove_leftovers(store)
                disk.remove_loose_leftovers(store.git)
                if limit_s >= LIMIT_S:  # a caller in a hurry says nothing about the directory
                    self._pause(store, _TOO_SLOW)
                raise NotTaken(root, _TOO_SLOW) from exc
            except (GitFailed, OSError) as exc:
                raise NotTaken(root, str(exc)) from exc

    def keep(self, snapshot: Snapshot, conversation_id: str, turn_id: str, phase: str) -> str:
        """Keeps it under the turn's name; returns its commit. Raises NotTaken."""
        store = store_of(self.folder, snapshot.root)
        with self.gates.enter(store.git.name):
            try:
                if not store.git.exists():
                    disk.prepare(store, self._left_alone(), self._home)
                commit = write_snapshot(store, snapshot, self._clock.now_us())
                write_ref(store.git, f"refs/efr/{conversation_id}/{turn_id}/{phase}", commit)
            except OSError as exc:
                raise NotTaken(snapshot.root, str(exc)) from exc
        return commit

    def load(self, root: str, commit: str, limit_s: float = LIMIT_S) -> Snapshot | None:
        """A snapshot that was kept; None when it is there no more. Raises NotTaken."""
        store = store_of(self.folder, root)
        if not store.git.exists():
            return None
        try:
            return load(self._git(store), commit, self._budget(limit_s))
        except GitTimedOut as exc:
            raise NotTaken(root, "git does not answer") from exc

    def changes(self, before: Snapshot, after: Snapshot, limit_s: float = LIMIT_S) -> list[Change]:
        """What changed between two snapshots of one directory, by path. Raises NotTaken."""
        if before.is_empty and after.is_empty:
            return []
        git = self._git(store_of(self.folder, after.root))
        try:
            return changes(git, before, after, self._budget(limit_s))
        except (GitFailed, GitTimedOut) as exc:
            raise NotTaken(after.root, str(exc)) from exc

    def write_patch(
        self,
        before: Snapshot,
        after: Snapshot,
        prefix: str,
        into: CutText,
        limit_s: float = LIMIT_S,
        but: Sequence[str] = (),
    ) -> None:
        """Adds the unified diff to a text; `prefix` stands before each path, `but`: absolute
        paths of directories that are passed over. Raises NotTaken."""
        git = self._git(store_of(self.folder, after.root))
        try:
            passed = sorted(below(after.root, but))
            write_patch(git, before, after, prefix, into, self._budget(limit_s), passed)
        except (GitFailed, GitTimedOut) as exc:
            raise NotTaken(after.root, str(exc)) from exc

    def collect(self, keep_turns: int, max_age_days: int, cancel: Cancel) -> None:
        """Drops what is old. A fault in a store is a line in the log. Raises Cancelled."""
        collection = Collection(self.folder, self._path, self._clock, self.gates, self._in_use)
        collection.run(keep_turns, max_age_days, cancel)

    # Inside --------------------------------------------------------------------------------

    def _take_or_start_over(
        self, store: StoreFiles, limits: Limits, budget: Budget, *, whole: bool
    ) -> Snapshot:
        """Once more as it is, for a file may have changed while git read it; then from nothing,
        for what is known of the directory may be damaged."""
        for start_over in (False, True):
            try:
                return self._take(store, limits, budget, whole=whole)
            except GitMissing:
                raise
            except GitFailed as exc:
                log.warning("the store of %s is read again: %s", store.root, exc)
            if start_over:
                self._start_over(store)
        return self._take(store, limits, budget, whole=whole)

    def _take(self, store: StoreFiles, limits: Limits, budget: Budget, *, whole: bool) -> Snapshot:
        if not store.git.exists():  # it was removed, and so was what is known of it
            with self._lock:
                self._known.pop(store.git.name, None)
        left_alone = self._left_alone()
        disk.prepare(store, left_alone, self._home)
        with self._lock:
            known = self._known.setdefault(store.git.name, Known())
        left = below(store.root, left_alone) | {self._marker}
        taker = Taker(store, self._path, limits, known, left)
        return taker.take(budget, whole=whole)

    def _give(self, name: str, taken: Snapshot) -> None:
        with self._lock:
            held = [one for one in self._given.get(name, ()) if one() is not None]
            self._given[name] = [*held, ref(taken)]

    def _in_use(self, name: str) -> frozenset[str]:
        """The trees of a store's snapshots that somebody holds."""
        with self._lock:
            held = [one() for one in self._given.get(name, ())]
        trees = [(one.files, one.ignored) for one in held if one is not None]
        return frozenset(tree for both in trees for tree in both if tree is not None)

    def _is_bare(self, root: str) -> bool:
        """Nothing is in the directory but efr's marker: no git is needed to say so."""
        try:
            with os.scandir(root) as entries:
                return all(entry.name == self._marker for entry in entries)
        except OSError as exc:
            raise NotTaken(root, exc.strerror or str(exc)) from exc

    def _git(self, store: StoreFiles) -> Git:
        root = store.root if os.path.isdir(store.root) else None
        return Git(store.git, store.index, root, self._path)

    def _budget(self, limit_s: float, cancel: Cancel | None = None) -> Budget:
        return Budget(self._clock, self._clock.monotonic() + limit_s, cancel)

    def _check_pause(self, store: StoreFiles) -> None:
        now = self._clock.monotonic()
        with self._lock:
            until, why = self._paused.get(store.git.name, (0.0, ""))
            if why and until <= now:
                del self._paused[store.git.name]
        if why and until > now:
            raise NotTaken(store.root, why)

    def _pause(self, store: StoreFiles, why: str) -> None:
        with self._lock:
            self._paused[store.git.name] = (self._clock.monotonic() + AGAIN_S, why)

    def _start_over(self, store: StoreFiles) -> None:
        """After a fault: the next snapshot reads everything again."""
        disk.remove_leftovers(store)
        disk.start_over(store)
        with self._lock:
            self._known.pop(store.git.name, None)
