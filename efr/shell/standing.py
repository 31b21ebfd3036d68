"""Where a shell really stands, and where one can start. Asks the kernel and changes nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_FRONT: Final = 5  # behind the program's name in /proc/PID/stat: the group that holds the terminal
_REMOVED: Final = " (deleted)"


def nearest_directory(path: str) -> str:
    """`path`, or its nearest parent that is a directory one may enter."""
    for candidate in (Path(path), *Path(path).parents):
        if candidate.is_dir() and os.access(candidate, os.X_OK):
            return str(candidate)
    return "/"


def directory_in_front(pid: int) -> str | None:
    """The directory of who holds the terminal of the session of `pid`, without symbolic links and
    with a note when it was removed; None when that cannot be told, as of another user's shell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            front = int(stat.read().rpartition(b")")[2].split()[_FRONT])
        return os.readlink(f"/proc/{front if front > 0 else pid}/cwd")
    except (OSError, ValueError, IndexError):
        return None


def is_there(directory: str) -> bool:
    """Whether what `directory_in_front` tells is a directory that is still there."""
    return not directory.endswith(_REMOVED)
