"""What a snapshot is, and what differs between two of them. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct, field

from efr.snapshots.choice import Mark
from efr.snapshots.objects import EMPTY_TREE

Kind = Literal["added", "modified", "deleted", "renamed"]


class Hidden(Enum):
    """Why a changed file's content is not shown."""

    IGNORED = "ignored file"
    LARGE = "too large"


class Snapshot(Struct, frozen=True, weakref=True):
    """The files of a directory at one time, as trees of its store."""

    root: str
    files: str = EMPTY_TREE
    ignored: str | None = None  # None: those were not looked at
    large: Mapping[str, Mark] = field(default_factory=dict)  # left out for their size
    count: int = 0  # files that are in it
    skipped: int = 0  # files that are left out

    @property
    def is_empty(self) -> bool:
        """Nothing is in it, and nothing had to be left out."""
        nothing = self.files == EMPTY_TREE and self.ignored in (None, EMPTY_TREE)
        return nothing and not self.large and not self.skipped


class Change(Struct, frozen=True):
    """One changed file. Paths are relative to the directory."""

    path: str
    kind: Kind
    from_path: str | None = None
    added: int = 0
    removed: int = 0
    binary: bool = False
    hidden: Hidden | None = None
