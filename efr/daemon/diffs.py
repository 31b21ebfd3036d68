"""`conversation.diff`: what a turn changed in files, from the snapshots that its events name.

The list of a turn whose snapshots are collected is the one that its end recorded. What no snapshot
holds has a line of its own in the diff. Blocks on git; an errand of its own runs it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from efr.agent.changed_files import file_changes, roots_below, shown
from efr.agent.ports import Readers
from efr.daemon.log_reads import no_conversation
from efr.daemon.projects import KnownProjects
from efr.snapshots.compare import CutText
from efr.snapshots.errors import NotTaken
from efr.snapshots.room import Snapshots
from efr.snapshots.snapshot import Change, Snapshot
from efr.store import queries
from efr.tools.contract import Where
from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.errors import BadValue, refuse

_log = logging.getLogger("efr.daemon")

LINES: Final = 20_000  # of a diff; the protocol's limit
BYTES: Final = 2_500_000  # a control character takes six bytes in JSON, and a frame has 16 MiB
LIMIT_S: Final = 10.0  # for one look of git: somebody waits

_ENDED: Final = frozenset(("completed", "failed", "interrupted"))

End = ev.TurnCompleted | ev.TurnFailed | ev.TurnInterrupted


class _Turn(Struct, frozen=True):
    """What the log tells of a turn's files."""

    id: str
    started: ev.TurnStarted | None
    end: End | None
    taken: tuple[ev.SnapshotTaken, ...]

    def pairs(self) -> dict[str, tuple[str, str]]:
        """The commits before and after, by directory, in the order of the snapshots."""
        before = {one.root: one.commit for one in self.taken if one.phase is t.SnapshotPhase.PRE}
        after = {one.root: one.commit for one in self.taken if one.phase is t.SnapshotPhase.POST}
        return {root: (before[root], after[root]) for root in before if root in after}


class Diffs:
    """Tells what turns changed. Any thread."""

    def __init__(
        self,
        readers: Readers,
        snapshots: Snapshots,
        projects: KnownProjects,
        home: str,
        scratch: Path,
    ) -> None:
        self._readers = readers
        self._snapshots = snapshots
        self._projects = projects
        self._home = home
        self._scratch = os.path.realpath(scratch)

    def diff(self, params: m.ConversationDiffParams, tty: str | None) -> m.ConversationDiffResult:
        """The changes, and unless only those are asked for, the diff. Raises Refusal."""
        turn = self._readers.read(lambda conn: _find(conn, params, tty))
        where = self._where(turn)
        pairs: dict[str, tuple[Snapshot, Snapshot]] = {}
        gone = False
        for root, commits in turn.pairs().items():
            loaded = self._load(root, commits)
            gone = gone or loaded is None
            if loaded is not None:
                pairs[root] = loaded
        changes = _recorded(turn) if gone else self._changes(pairs, where)
        if params.stat:
            return m.ConversationDiffResult(turn_id=turn.id, changes=changes)
        text = CutText(LINES, BYTES)
        self._write(turn, pairs, where, text, gone=gone)
        return m.ConversationDiffResult(turn_id=turn.id, changes=changes, diff=text.text())

    def _load(self, root: str, commits: tuple[str, str]) -> tuple[Snapshot, Snapshot] | None:
        try:
            before = self._snapshots.load(root, commits[0], LIMIT_S)
            after = self._snapshots.load(root, commits[1], LIMIT_S)
        except NotTaken as exc:
            raise _no_answer(exc) from exc
        return None if before is None or after is None else (before, after)

    def _changes(self, pairs: dict[str, tuple[Snapshot, Snapshot]], where: Where) -> t.FileChanges:
        found: dict[str, Sequence[Change]] = {}
        for root, (before, after) in pairs.items():
            try:
                found[root] = self._snapshots.changes(before, after, LIMIT_S)
            except NotTaken as exc:
                raise _no_answer(exc) from exc
        return file_changes(found, where)

    def _write(
        self,
        turn: _Turn,
        pairs: dict[str, tuple[Snapshot, Snapshot]],
        where: Where,
        text: CutText,
        *,
        gone: bool,
    ) -> None:
        for root, (before, after) in pairs.items():
            prefix = shown(os.path.join(root, "x"), where).removesuffix("x").lstrip("/")
            try:
                inner = roots_below(root, pairs)
                self._snapshots.write_patch(before, after, prefix, text, LIMIT_S, inner)
            except NotTaken as exc:
                raise _no_answer(exc) from exc
        if gone:
            text.add(b"the snapshots of this turn are collected, content not shown\n")
        undo = turn.end.undo if turn.end is not None else None
        for path in undo.not_covered if undo is not None else ():
            if path not in {one.path for one in file_changes_of(turn)}:
                text.add(f"{path}: no snapshot of this turn holds it\n".encode())

    def _where(self, turn: _Turn) -> Where:
        """How the turn's paths are shown: its project and its $SCRATCH."""
        roots = list(turn.pairs())
        scratch = next((root for root in roots if self._is_scratch(root)), None)
        project = None
        if turn.started is not None and isinstance(turn.started.scope, t.ScopeProject):
            known = self._projects.places.projects.all()
            wanted = turn.started.scope.value
            others = [root for root in roots if not self._is_scratch(root)]
            # A project that is registered no more was the first to be looked at.
            project = next((one.root for one in known if one.id == wanted), None) or next(
                iter(others), None
            )
        return Where(self._home, self._home, self._home, scratch, project)

    def _is_scratch(self, root: str) -> bool:
        return os.path.dirname(root) == self._scratch


def file_changes_of(turn: _Turn) -> tuple[t.FileChange, ...]:
    """The list that the end of the turn recorded."""
    return _recorded(turn).files


def _recorded(turn: _Turn) -> t.FileChanges:
    changes = turn.end.changes if turn.end is not None else None
    return changes if changes is not None else t.FileChanges(files=())


def _no_answer(exc: NotTaken) -> Exception:
    _log.warning("no diff: %s", exc)
    return refuse(t.ErrorCode.INTERNAL, f"the snapshots cannot be read: {exc.why}")


# The turn that is meant -----------------------------------------------------------------------


def _find(conn: Any, params: m.ConversationDiffParams, tty: str | None) -> _Turn:
    """Raises Refusal."""
    row = _named(conn, params) if params.turn_id is not None else _newest(conn, params, tty)
    events = [_decoded(one) for one in queries.turn_events(conn, row.conversation_id, row.id)]
    return _Turn(
        id=row.id,
        started=next((one for one in events if isinstance(one, ev.TurnStarted)), None),
        end=next((one for one in events if isinstance(one, End)), None),
        taken=tuple(one for one in events if isinstance(one, ev.SnapshotTaken)),
    )


def _decoded(stored: queries.StoredEvent) -> ev.Event | None:
    try:
        return ev.decode_event(stored.kind, stored.payload)
    except BadValue:
        return None  # a damaged record; the others tell what they know


def _named(conn: Any, params: m.ConversationDiffParams) -> queries.TurnRow:
    assert params.turn_id is not None  # its caller looked
    row = queries.turn(conn, params.turn_id)
    wanted = params.conversation_id
    if row is None or (wanted is not None and row.conversation_id != wanted):
        raise refuse(t.ErrorCode.NOT_FOUND, f"there is no turn {params.turn_id}")
    return row


def _newest(conn: Any, params: m.ConversationDiffParams, tty: str | None) -> queries.TurnRow:
    conversation_id = params.conversation_id
    if conversation_id is None:
        rows = queries.conversations_of_tty(conn, tty) if tty is not None else []
        if not rows:
            raise refuse(t.ErrorCode.NOT_FOUND, "this terminal has no conversation; name one")
        conversation_id = rows[0].id
    elif queries.conversation(conn, conversation_id) is None:
        raise no_conversation(conversation_id)
    ended = [
        one
        for one in queries.turns(conn, conversation_id)
        if one.status in _ENDED and one.started_at is not None
    ]
    if not ended:
        raise refuse(t.ErrorCode.NOT_FOUND, "no turn of this conversation has ended yet")
    return max(ended, key=lambda one: (one.started_at or 0, one.queued_seq))
