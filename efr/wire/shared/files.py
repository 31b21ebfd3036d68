"""Changed files and their undo (protocol: changed files, undo)."""

from enum import StrEnum

from msgspec import field

from efr.wire.scalars import U32, Wire


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


class FileChange(Wire, frozen=True, kw_only=True, rename={"from_": "from"}):
    """One changed file."""

    path: str  # relative to the turn's project, below $SCRATCH/, below ~/, else absolute
    kind: ChangeKind
    from_: str | None = None  # where a renamed file was
    added: U32  # lines; 0 for a binary file
    removed: U32
    binary: bool = False


class FileChanges(Wire, frozen=True):
    """What a call or a turn changed."""

    files: tuple[FileChange, ...]  # at most 50, sorted by path
    more: U32 = field(default_factory=int)  # files left out
    added: U32 = field(default_factory=int)  # lines in all files, also those left out
    removed: U32 = field(default_factory=int)  # as `added`
