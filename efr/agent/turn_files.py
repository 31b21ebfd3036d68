"""The files of one turn: a snapshot before its first change, one after its end, and what differs.

The first call that may write takes the snapshot of each directory that counts: the turn's project,
`$SCRATCH`, and in auto the projects that a command line names. A command is looked at before and
after, so its own changes are known (and what others changed meanwhile). A snapshot that fails costs
the list and a line in the log, never the call or the turn. The worker's thread; blocks on git.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Final

from efr.agent.changed_files import file_changes, left_out, not_covered, shown
from efr.agent.commit import TurnLog
from efr.agent.place import Projects
from efr.base.cancel import Cancel, Cancelled
from efr.base.clock import Clock
from efr.config import schema
from efr.policy.needs import CallNeeds
from efr.policy.paths import holds, normal
from efr.snapshots.choice import Limits
from efr.snapshots.errors import NotTaken
from efr.snapshots.room import LIMIT_S, Snapshots
from efr.snapshots.snapshot import Change, Snapshot
from efr.tools.contract import Where
from efr.wire import events as ev
from efr.wire import types as t

log = logging.getLogger("efr.agent")

HURRY_S: Final = 2.0  # for a snapshot after an interrupt, which somebody waits for
_MIB: Final = 1 << 20


class TurnFiles:
    """What a turn does to files. Made for each turn."""

    def __init__(
        self,
        snapshots: Snapshots | None,
        settings: schema.Snapshot,
        turn_log: TurnLog,
        where: Where,
        named: Projects | None,
        clock: Clock,
    ) -> None:
        """`snapshots`: None when there are none. `named`: the projects that a command line may
        name; None when those do not count."""
        self._snapshots = snapshots if settings.enabled else None
        self._limits = Limits(
            max_file_bytes=settings.max_file_mib * _MIB,
            max_files=settings.max_files,
            ignored=settings.ignored == "small",
        )
        self._log = turn_log
        self._where = where
        self._named = named
        self._clock = clock
        self._first: dict[str, Snapshot] = {}  # by directory, in the order of their calls
        self._last: dict[str, Snapshot] = {}  # taken after an interrupt: the end is in a hurry
        self._recorded: set[str] = set()  # those whose first snapshot is kept
        self._failed: set[str] = set()  # directories that are not tried again in this turn

    def before(self, needs: CallNeeds, cancel: Cancel) -> dict[str, Snapshot]:
        """Before a call runs. Returns what `after` compares with. Raises StoreError."""
        found: dict[str, Snapshot] = {}
        if self._snapshots is None:
            return found
        for root in dict.fromkeys(self._roots(needs)):
            first = root not in self._first
            if root in self._failed or not (first or needs.command):
                continue
            began = self._clock.monotonic()
            taken = self._take(root, cancel, whole=first)
            if taken is None:
                continue
            found[root] = taken
            if first:
                self._first[root] = taken
                if not taken.is_empty:  # nothing is lost with nothing
                    self._record_first(root, began)
        return found if needs.command else {}

    def after(self, before: Mapping[str, Snapshot], cancel: Cancel) -> t.FileChanges | None:
        """What changed since `before`; None when nothing did. Raises StoreError."""
        found: dict[str, list[Change]] = {}
        for root, snapshot in before.items():
            began = self._clock.monotonic()
            stopped = cancel.cancelled  # then no call comes after, and this is the last look
            last = self._take_last(root, cancel, whole=stopped)
            if last is None:
                continue
            if stopped:
                self._last[root] = last
            if last == snapshot:
                continue
            self._record_first(root, began)
            if changes := self._changes(snapshot, last):
                found[root] = changes
        return file_changes(found, self._where) if found else None

    def end(self, cancel: Cancel) -> tuple[t.FileChanges | None, t.UndoSummary | None]:
        """After the last call: what the turn changed, and what no snapshot holds of it. Raises
        StoreError."""
        found: dict[str, list[Change]] = {}
        for root, first in self._first.items():
            began = self._clock.monotonic()
            last = self._last.get(root) or self._take_last(root, cancel, whole=True)
            if last is None:
                self._failed.add(root)
                continue
            if first.is_empty and last.is_empty:
                continue
            self._record_first(root, began)
            self._record(last, t.SnapshotPhase.POST, began)
            if changes := self._changes(first, last):
                found[root] = changes
        missing = [shown(root, self._where) for root in self._failed]
        return (
            file_changes(found, self._where) if found else None,
            not_covered([*missing, *left_out(found, self._where)]),
        )

    # Inside --------------------------------------------------------------------------------

    def _roots(self, needs: CallNeeds) -> Iterator[str]:
        """The directories that a call may write in."""
        written = [use.path for use in needs.paths if use.access == "write"]
        for root in (self._where.project_root, self._where.scratch):
            if root is not None and (needs.command or any(_is_in(root, one) for one in written)):
                yield root
        if needs.command and self._named is not None:
            roots = [project.root for project in self._named.all()]
            for use in needs.paths:
                holding = [root for root in roots if _is_in(root, use.path)]
                if holding:
                    yield max(holding, key=len)

    def _take(self, root: str, cancel: Cancel, *, whole: bool) -> Snapshot | None:
        """None: it could not be taken, or an interrupt came."""
        assert self._snapshots is not None  # `before` looked
        try:
            return self._snapshots.take(root, self._limits, whole=whole, cancel=cancel)
        except Cancelled:
            return None
        except NotTaken as exc:
            self._fail(exc)
            self._failed.add(root)
            return None

    def _take_last(self, root: str, cancel: Cancel, *, whole: bool) -> Snapshot | None:
        """A snapshot that an interrupt does not stop, only hurry."""
        assert self._snapshots is not None  # `before` looked
        limit_s = HURRY_S if cancel.cancelled else LIMIT_S
        try:
            return self._snapshots.take(root, self._limits, whole=whole, limit_s=limit_s)
        except NotTaken as exc:
            self._fail(exc)
            return None

    def _changes(self, before: Snapshot, after: Snapshot) -> list[Change]:
        assert self._snapshots is not None  # `before` looked
        try:
            return self._snapshots.changes(before, after)
        except NotTaken as exc:
            self._fail(exc)
            return []

    def _record_first(self, root: str, began: float) -> None:
        if root not in self._recorded:
            self._recorded.add(root)
            self._record(self._first[root], t.SnapshotPhase.PRE, began)

    def _record(self, taken: Snapshot, phase: t.SnapshotPhase, began: float) -> None:
        assert self._snapshots is not None  # `before` looked
        turn = self._log
        try:
            commit = self._snapshots.keep(taken, turn.conversation_id, turn.turn_id, phase.value)
        except NotTaken as exc:
            self._fail(exc)
            return
        turn.record(
            ev.SnapshotTaken(
                turn_id=turn.turn_id,
                root=taken.root,
                phase=phase,
                commit=commit,
                files=taken.count,
                skipped=taken.skipped,
                ms=round((self._clock.monotonic() - began) * 1000),
            )
        )

    def _fail(self, exc: NotTaken) -> None:
        log.warning("no snapshot of %s", exc)


def _is_in(root: str, path: str) -> bool:
    """Whether a path is below a directory, by its name or by where links lead."""
    return holds(root, normal(path)) or holds(os.path.realpath(root), os.path.realpath(path))
