"""The hourly collection: old turns, loose objects that nothing names, stores that nobody uses.

Of each conversation the newest turns stay. Objects younger than an hour stay, for they may belong
to a snapshot that is not named yet. Each store goes through its gate; a fault in one is one line
in the log and keeps no other from its turn. Blocks on git.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from efr.base.cancel import Cancel
from efr.base.clock import Clock
from efr.snapshots import files as disk
from efr.snapshots.errors import SnapshotError
from efr.snapshots.files import StoreFiles
from efr.snapshots.gates import Gates
from efr.snapshots.git import Budget, Git
from efr.snapshots.objects import write_ref

log = logging.getLogger("efr.snapshots")

_PRUNE: Final = "--expire=1.hour.ago"
_LIMIT_S: Final = 120.0  # for one store: nobody but a snapshot of it waits
_LOOSE: Final = 1000  # loose objects from which on they are packed
_PACKS: Final = 12  # packs from which on they become one
_DAY_US: Final = 86_400 * 1_000_000
_UNNAMED_US: Final = 3600 * 1_000_000  # a store that no conversation names goes after an hour
_LIVE: Final = "refs/efr-live/"  # names what the next snapshot uses again
_PIN: Final = f"{_LIVE}in-use-"  # during a pass alone


class Collection:
    """One pass over the stores."""

    def __init__(
        self,
        folder: Path,
        path: str,
        clock: Clock,
        gates: Gates,
        in_use: Callable[[str], Iterable[str]],
    ) -> None:
        """`in_use`: the trees of a store that stay though nothing names them, by the store's
        name."""
        self._folder = folder
        self._path = path
        self._clock = clock
        self._gates = gates
        self._in_use = in_use

    def run(self, keep_turns: int, max_age_days: int, cancel: Cancel) -> None:
        """The whole pass. Raises Cancelled."""
        before_us = self._clock.now_us() - max_age_days * _DAY_US
        for rest in self._folder.glob("*.git.removed"):  # an earlier pass was cut short
            shutil.rmtree(rest, ignore_errors=True)
        for git in sorted(self._folder.glob("*.git")):
            if git.is_symlink() or not git.is_dir():
                continue
            with self._gates.enter(git.name):
                try:
                    self._store(git, keep_turns, before_us, cancel)
                except (SnapshotError, OSError) as exc:
                    log.warning("the snapshots in %s were not collected: %s", git, exc)

    def _store(self, git: Path, keep_turns: int, before_us: int, cancel: Cancel) -> None:
        store = StoreFiles("", git)
        used_us = _used_at_us(store.name)
        if used_us < before_us:
            _remove(store)
            return
        disk.remove_leftovers(store)
        disk.remove_loose_leftovers(git)
        budget = Budget(self._clock, self._clock.monotonic() + _LIMIT_S, cancel)
        runner = Git(git, store.index, None, self._path)
        refs = runner.run("for-each-ref", "--format=%(refname)", budget=budget).decode().split()
        if used_us < self._clock.now_us() - _UNNAMED_US and not any(map(_is_named, refs)):
            _remove(store)
            return
        stale = [ref for ref in refs if ref.startswith(_PIN)]  # of a pass that was cut short
        _delete_refs(runner, [*too_old(refs, keep_turns), *stale], budget)
        pins = self._pin(runner, budget)
        try:
            if _is_untidy(git):
                runner.run(
                    "repack", "-A", "-d", "-q", "--unpack-unreachable=1.hour.ago", budget=budget
                )
            runner.run("prune", _PRUNE, budget=budget)
        finally:
            for pin in pins:
                disk.forget(git / pin)

    def _pin(self, runner: Git, budget: Budget) -> list[str]:
        """Names what a command that runs for hours is compared with. No ref is packed here."""
        trees = "".join(f"{tree}\n" for tree in sorted(self._in_use(runner.store.name)))
        told = runner.run("cat-file", "--batch-check", budget=budget, given=trees.encode())
        pins: list[str] = []
        for line in told.decode().splitlines():
            tree, kind = line.split(" ")[:2]
            if kind == "tree":  # else the store was begun anew meanwhile
                pins.append(f"{_PIN}{len(pins)}")
                write_ref(runner.store, pins[-1], tree)
        return pins


def _delete_refs(runner: Git, refs: Sequence[str], budget: Budget) -> None:
    if refs:
        commands = "".join(f"delete {ref}\n" for ref in refs)
        runner.run("update-ref", "--stdin", budget=budget, given=commands.encode())


def too_old(refs: Iterable[str], keep_turns: int) -> list[str]:
    """The refs of turns that are not among the newest of their conversation. Ids of turns begin
    with their time (UUIDv7), so the order of the names is that of the turns."""
    turns: dict[str, dict[str, list[str]]] = {}
    for ref in refs:
        parts = ref.split("/")
        if len(parts) == 5 and parts[:2] == ["refs", "efr"]:
            turns.setdefault(parts[2], {}).setdefault(parts[3], []).append(ref)
    return [
        ref
        for of_conversation in turns.values()
        for turn in sorted(of_conversation)[:-keep_turns]
        for ref in of_conversation[turn]
    ]


def _is_named(ref: str) -> bool:
    return not ref.startswith(_LIVE)


def _used_at_us(name: Path) -> int:
    """When the last snapshot was taken there; never, when the store has no name."""
    try:
        return name.stat().st_mtime_ns // 1000
    except OSError:
        return 0


def _is_untidy(git: Path) -> bool:
    objects = git / "objects"
    packs = sum(1 for _ in (objects / "pack").glob("*.pack"))
    if packs > _PACKS:
        return True
    # Names are spread evenly: one folder of 256 tells of all, as for `git gc --auto`.
    sample = objects / "17"
    return sample.is_dir() and len(os.listdir(sample)) * 256 > _LOOSE * 4


def _remove(store: StoreFiles) -> None:
    """The files beside it first: without them the repository still tells whose it was."""
    for path in (store.index, store.name):
        disk.forget(path)
    removed = store.git.with_name(store.git.name + ".removed")
    shutil.rmtree(removed, ignore_errors=True)
    store.git.rename(removed)
    shutil.rmtree(removed, ignore_errors=True)
