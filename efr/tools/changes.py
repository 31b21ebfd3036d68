"""How a changed file is named and counted in a result.

Pure. The path as the user knows it: below the turn's project, `$SCRATCH/`, `~/`, else absolute.
"""

from __future__ import annotations

from efr.policy.paths import holds, normal
from efr.text.diff import FileDiff
from efr.tools.contract import Where
from efr.wire import types as t


def shown_path(path: str, where: Where) -> str:
    """The short form of an absolute path."""
    folded = normal(path)
    for root, short in (
        (where.project_root, ""),
        (where.scratch, "$SCRATCH/"),
        (where.home, "~/"),
    ):
        if root is not None and folded != normal(root) and holds(normal(root), folded):
            return short + folded[len(normal(root).rstrip("/")) + 1 :]
    return folded


def one_change(path: str, kind: t.ChangeKind, diff: FileDiff) -> t.FileChanges:
    """The changes of a call that touched one file."""
    change = t.FileChange(path=path, kind=kind, added=diff.added, removed=diff.removed)
    return t.FileChanges(files=(change,), more=0, added=diff.added, removed=diff.removed)
