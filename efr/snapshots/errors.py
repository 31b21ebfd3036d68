"""What a snapshot fails with."""

from __future__ import annotations


class SnapshotError(Exception):
    """The base of this room's errors."""


class NotTaken(SnapshotError):
    """A directory has no snapshot of now; `why` is a few words."""

    def __init__(self, root: str, why: str) -> None:
        super().__init__(f"{root}: {why}")
        self.root = root
        self.why = why


class GitFailed(SnapshotError):
    """git ended with an error."""


class GitMissing(GitFailed):
    """git cannot be started."""


class GitTimedOut(SnapshotError):
    """git did not end in time and was killed."""
