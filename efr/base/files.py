"""Files that are whole or absent, and private ones that stay private.

`write_atomic` never shows a reader half a file: it writes beside the target, syncs and renames.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

TEMPORARY_SUFFIX = ".efr-tmp"  # what a start removes when it is older than the start


class NotPrivate(Exception):
    """A secret file or its directory can be reached by others, or is a link. Names the path."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Replaces `path` by a file with `data` and `mode`, synced before it takes the name.

    Raises OSError, which names `path` also where the system names no file (a full disk).
    """
    name = path.parent / f".{path.name}.{os.urandom(6).hex()}{TEMPORARY_SUFFIX}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException as exc:
        name.unlink(missing_ok=True)
        if isinstance(exc, OSError) and exc.filename is None:
            exc.filename = str(path)
        raise
    sync_dir(path.parent)


def sync_dir(path: Path) -> None:
    """Makes a rename in `path` survive a power loss."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_private_dir(path: Path) -> Path:
    """Makes `path` (and its parents) with mode 0700; an existing directory keeps its mode."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def read_private(path: Path, limit_bytes: int) -> bytes:
    """The bytes of a secret file. Raises NotPrivate when others can reach it or it is a link.

    Raises FileNotFoundError when there is none, and NotPrivate as well above `limit_bytes`.
    """
    folder = os.lstat(path.parent)
    if not stat.S_ISDIR(folder.st_mode):
        raise NotPrivate(path.parent, "is a link or not a directory")
    if folder.st_uid != os.geteuid() or folder.st_mode & 0o077:
        raise NotPrivate(path.parent, "can be reached by others (wants mode 0700)")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as exc:
        if path.is_symlink():
            raise NotPrivate(path, "is a symbolic link") from exc
        raise
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise NotPrivate(path, "is not a regular file")
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            raise NotPrivate(path, "can be reached by others (wants mode 0600)")
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise NotPrivate(path, f"is larger than {limit_bytes} bytes")
    return data
