"""The changed files of a turn or a call, as clients see them: named, counted, cut to the limit.

Pure. A file's path is the user's: below the turn's project, `$SCRATCH/`, `~/`, else absolute.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from efr.policy.paths import holds
from efr.snapshots.snapshot import Change, Hidden
from efr.tools.changes import shown_path
from efr.tools.contract import Where
from efr.wire import types as t

MOST: Final = 50  # files of a list; the protocol's limit
_KINDS: Final = {
    "added": t.ChangeKind.ADDED,
    "modified": t.ChangeKind.MODIFIED,
    "deleted": t.ChangeKind.DELETED,
    "renamed": t.ChangeKind.RENAMED,
}


def file_changes(found: Mapping[str, Sequence[Change]], where: Where) -> t.FileChanges:
    """The changes below some directories, by path."""
    files = sorted(
        (_file(root, one, where) for root in found for one in _own(root, found)),
        key=lambda file: file.path.encode(),
    )
    return t.FileChanges(
        files=tuple(files[:MOST]),
        more=max(len(files) - MOST, 0),
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
    )


def left_out(found: Mapping[str, Sequence[Change]], where: Where) -> list[str]:
    """The changed files that no snapshot holds, for they are too large."""
    return [
        shown(os.path.join(root, one.path), where)
        for root in found
        for one in _own(root, found)
        if one.hidden is Hidden.LARGE
    ]


def roots_below(root: str, roots: Iterable[str]) -> list[str]:
    """The directories that are in another one: their files are theirs and not the outer one's."""
    return [one for one in roots if one != root and holds(root, one)]


def _own(root: str, found: Mapping[str, Sequence[Change]]) -> list[Change]:
    inner = roots_below(root, found)
    return [
        one
        for one in found[root]
        if not any(holds(other, os.path.join(root, one.path)) for other in inner)
    ]


def not_covered(paths: Iterable[str]) -> t.UndoSummary | None:
    """What of a turn no snapshot holds; None when that is nothing."""
    names = sorted(set(paths))
    if not names:
        return None
    return t.UndoSummary(
        not_covered=tuple(names[:MOST]), not_covered_more=max(len(names) - MOST, 0)
    )


def shown(path: str, where: Where) -> str:
    """A path for a client; bytes that are no text show as U+FFFD."""
    return os.fsencode(shown_path(path, where)).decode("utf-8", "replace")


def _file(root: str, change: Change, where: Where) -> t.FileChange:
    source = change.from_path
    return t.FileChange(
        path=shown(os.path.join(root, change.path), where),
        kind=_KINDS[change.kind],
        from_=None if source is None else shown(os.path.join(root, source), where),
        added=change.added,
        removed=change.removed,
        binary=change.binary,
    )
