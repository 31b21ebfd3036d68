"""The single-instance lock: an exclusive flock on `daemon.lock` for the life of the process.

The kernel releases it when the process ends, however it ends; so no pid file, socket or
`daemon.json` ever decides who runs. The file is never removed. Children do not inherit it.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from msgspec import Struct


class LockHeld(Exception):
    """Another efrd runs on this data directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"another efrd runs on this data directory ({path} is locked)")
        self.path = path


class LockUnusable(Exception):
    """The file system cannot lock."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            f"cannot lock {path} ({why}); put the data directory on a file system with flock"
        )
        self.path = path


class DaemonLock(Struct):
    """The held lock."""

    handle: int

    def release(self) -> None:
        """Lets the next efrd in. May be called twice."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)


def acquire(path: Path) -> DaemonLock:
    """Takes the lock or raises LockHeld, LockUnusable. Never waits."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(handle)
        if exc.errno in (errno.EWOULDBLOCK, errno.EACCES):
            raise LockHeld(path) from exc
        raise LockUnusable(path, exc.strerror or str(exc)) from exc
    return DaemonLock(handle)
