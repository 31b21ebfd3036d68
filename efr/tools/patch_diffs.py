"""How the changes of a patch are shown: a diff per file in the order of change, and counts.

Pure. The limits of a recorded diff and of a question's preview are here with their reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from efr.text.diff import FileDiff, file_diff, limit_lines
from efr.tools.changes import shown_path
from efr.tools.contract import Where
from efr.tools.file_limits import DIFF_BYTES, DIFF_LINES
from efr.tools.patch import Change, Key
from efr.wire import types as t

_PREVIEW_BYTES: Final = 4 * 1024 * 1024  # a question shows every line that fits into a frame
_MOST_FILES: Final = 50  # of a list; the protocol's limit

_KINDS: Final = {
    "added": t.ChangeKind.ADDED,
    "updated": t.ChangeKind.MODIFIED,
    "deleted": t.ChangeKind.DELETED,
    "moved": t.ChangeKind.RENAMED,
}


class ShownDiff(Struct, frozen=True):
    """One file's change, as people see it."""

    path: str
    from_path: str | None
    kind: t.ChangeKind
    diff: FileDiff


def diffs_of(
    changes: Sequence[Change], paths: Mapping[Key, str], where: Where
) -> tuple[ShownDiff, ...]:
    """The changes with their diffs. `paths` are absolute."""
    return tuple(_shown(change, paths, where) for change in changes)


def _shown(change: Change, paths: Mapping[Key, str], where: Where) -> ShownDiff:
    path = shown_path(paths[change.key], where)
    source = None if change.from_key is None else shown_path(paths[change.from_key], where)
    diff = file_diff(path, _readable(change.before), _readable(change.after), from_path=source)
    return ShownDiff(path, source, _KINDS[change.kind], diff)


def _readable(text: str | None) -> str | None:
    """Bytes that are no UTF-8 show as U+FFFD, as read_file shows them."""
    if text is None:
        return None
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def recorded_diff(diffs: Sequence[ShownDiff]) -> str:
    """One after the other, within the limits of a call and of a file."""
    shown: list[str] = []
    room, left = DIFF_LINES, 0
    for one in diffs:
        lines = one.diff.lines[:room]
        shown.append(limit_lines(lines, len(lines), DIFF_BYTES))
        room -= len(lines)
        left += len(one.diff.lines) - len(lines)
    if left:
        shown.append(f"... {left} more lines\n")
    return "".join(shown)


def preview_diff(diffs: Sequence[ShownDiff]) -> str:
    """Every line, as far as a question can carry them; then how many files follow."""
    shown: list[str] = []
    room = _PREVIEW_BYTES
    for number, one in enumerate(diffs, 1):
        lines = one.diff.lines
        shown.append(limit_lines(lines, len(lines), room))
        room -= sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines)
        if room <= 0:
            if number < len(diffs):
                shown.append(f"... {len(diffs) - number} more files\n")
            break
    return "".join(shown)


def file_changes(diffs: Sequence[ShownDiff]) -> t.FileChanges:
    """The files by path, and the counts of all."""
    files = sorted(
        (
            t.FileChange(
                path=one.path,
                kind=one.kind,
                from_=one.from_path,
                added=one.diff.added,
                removed=one.diff.removed,
            )
            for one in diffs
        ),
        key=lambda file: file.path,
    )
    return t.FileChanges(
        files=tuple(files[:_MOST_FILES]),
        more=max(len(files) - _MOST_FILES, 0),
        added=sum(file.added for file in files),
        removed=sum(file.removed for file in files),
    )
