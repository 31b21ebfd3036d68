"""Removing directory trees that a model's commands may have filled: no link is ever followed.

Everything is reached through open directories (openat(2)), so a path that is swapped for a link
meanwhile leads nowhere. A directory without write permission of its owner gets it first. What
cannot be removed is told and stays, and so does everything above it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DEPTH: Final = 64  # directories open at a time; a deeper one is moved up first


def remove_tree(path: Path, last: str | None = None) -> list[Path]:
    """Removes a file, a link or a directory with all that is in it; returns what is left of it.

    `last`: the entry of the directory that goes only when all others are gone.
    """
    try:
        parent = os.open(path.parent, _DIRECTORY)
    except FileNotFoundError:
        return []
    except OSError:
        return [path]
    try:
        return _Removal(path, last).remove(parent)
    finally:
        os.close(parent)


class _Removal:
    """One removal. `left` are the paths that stay, as far as they are known."""

    def __init__(self, path: Path, last: str | None) -> None:
        self._path = path
        self._last = last
        self._top = -1
        self._moved = 0
        self._left: list[Path] = []

    def remove(self, parent: int) -> list[Path]:
        name = self._path.name
        if _unlink(parent, name):
            return []
        try:
            self._top = _open_directory(parent, name)
        except FileNotFoundError:
            return []
        except OSError:
            return [self._path]
        try:
            self._empty(self._top, self._path, 0)
            if not self._left and self._last is not None and not _unlink(self._top, self._last):
                self._left.append(self._path / self._last)
            if not self._left and not _remove_empty(parent, name):
                self._left.append(self._path)
        finally:
            os.close(self._top)
        return self._left

    def _empty(self, folder: int, shown: Path, depth: int) -> None:
        """Everything in an open directory. What was moved up is met by the next look."""
        while True:
            moved = self._moved
            if depth == 0:
                self._left.clear()
            for name in _names(folder, self._left, shown):
                if not (depth == 0 and name == self._last):
                    self._entry(folder, name, shown / name, depth)
            if depth > 0 or moved == self._moved:
                return

    def _entry(self, folder: int, name: str, shown: Path, depth: int) -> None:
        if _unlink(folder, name):
            return
        if depth >= _DEPTH and self._move_up(folder, name):
            return
        before = len(self._left)
        try:
            inner = _open_directory(folder, name)
        except FileNotFoundError:
            return
        except (OSError, RecursionError):
            self._left.append(shown)
            return
        try:
            self._empty(inner, shown, depth + 1)
        finally:
            os.close(inner)
        if len(self._left) == before and not _remove_empty(folder, name):
            self._left.append(shown)

    def _move_up(self, folder: int, name: str) -> bool:
        self._moved += 1
        new = f".efr-removed-{self._moved}"
        try:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=self._top)
        except OSError:
            return False
        return True


def _names(folder: int, left: list[Path], shown: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        left.append(shown)
        return []


def _unlink(folder: int, name: str) -> bool:
    """Whether it is gone; False also for a directory."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _remove_empty(folder: int, name: str) -> bool:
    try:
        os.rmdir(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _open_directory(folder: int, name: str) -> int:
    """An open directory that its owner may change. Raises OSError; a link is none."""
    try:
        handle = os.open(name, _DIRECTORY, dir_fd=folder)
    except PermissionError:
        _permit(folder, name)
        return os.open(name, _DIRECTORY, dir_fd=folder)
    if os.fstat(handle).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(OSError):  # then what is in it cannot be removed, and is told
            os.fchmod(handle, stat.S_IRWXU)
    return handle


def _permit(folder: int, name: str) -> None:
    """chmod of the directory itself: through a handle, for fchmodat(2) follows links."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)
    finally:
        os.close(handle)
