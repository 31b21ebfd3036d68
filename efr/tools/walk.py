"""Opening a path part by part, so that no link in it is ever followed.

A path that a decision named is opened from the root (or the home, which may itself be a link) one
directory at a time with O_NOFOLLOW. A link that is swapped in between decision and use therefore
ends in `ThroughLink` and never leads outside. Blocks on the file system; the caller's thread.
Source: open(2), openat(2).
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import Final

from efr.policy.paths import holds, normal
from efr.tools.contract import Closed, nothing_closed

_STEP: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_CLOEXEC
NEW_DIRECTORY: Final = 0o755


class ThroughLink(Exception):
    """The path runs through a symbolic link; `real` is where it leads now."""

    def __init__(self, path: str, real: str) -> None:
        super().__init__(f"{path} leads to {real}")
        self.path = path
        self.real = real


class NotRegular(Exception):
    """The path names something that is no regular file. `kind` is its word."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(f"{path} is {kind}")
        self.path = path
        self.kind = kind


_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@contextlib.contextmanager
def parent_of(path: str, home: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """(descriptor of the directory, last name) of an absolute path.

    `make` makes missing directories. Raises ThroughLink, FileNotFoundError, NotADirectoryError and
    other OSErrors.
    """
    folded = normal(path)
    start, inside = _start(folded, normal(home))
    *parts, name = inside.split("/")
    if not name:
        raise NotRegular(folded, "a directory")
    handle = os.open(start, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            inner = _step(handle, part, folded, make=make)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)


class IsClosed(Exception):
    """The file is closed to tools; `why` ends a sentence that begins with its name."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@contextlib.contextmanager
def regular_file(
    directory: int, name: str, path: str, closed: Closed = nothing_closed
) -> Iterator[tuple[int, os.stat_result]]:
    """A readable descriptor of a regular file, and its facts.

    It is looked at first, then that very file is opened: to open the wrong one and close it again
    does harm already (a FIFO, a device, a file whose locks would go). Raises NotRegular,
    ThroughLink, IsClosed, OSError.
    """
    look = os.open(name, _LOOK, dir_fd=directory)
    try:
        facts = os.fstat(look)
        _refuse_other(facts, path)
        if (why := closed(facts)) is not None:
            raise IsClosed(why)
        handle = os.open(f"/proc/self/fd/{look}", _READ)
    finally:
        os.close(look)
    try:
        yield handle, os.fstat(handle)
    finally:
        os.close(handle)


def one_name(path: str, home: str) -> str:
    """The path with the home as it really is: the same for every form the model may write."""
    start, inside = _start(normal(path), normal(home))
    return f"{start.rstrip('/')}/{inside}"


def _start(path: str, home: str) -> tuple[str, str]:
    """Where the walk starts, and the rest of the path."""
    if path != home and holds(home, path):
        return os.path.realpath(home), path[len(home) + 1 :]
    return "/", path[1:]


def _step(handle: int, part: str, path: str, *, make: bool) -> int:
    """The next directory down."""
    try:
        return os.open(part, _STEP, dir_fd=handle)
    except FileNotFoundError:
        if not make:
            raise
    except NotADirectoryError as exc:
        if _is_link(handle, part):
            raise ThroughLink(path, os.path.realpath(path)) from exc
        raise
    with contextlib.suppress(FileExistsError):  # somebody made it meanwhile
        os.mkdir(part, NEW_DIRECTORY, dir_fd=handle)
    return _step(handle, part, path, make=False)


def _is_link(handle: int, part: str) -> bool:
    return stat.S_ISLNK(os.stat(part, dir_fd=handle, follow_symlinks=False).st_mode)


def _refuse_other(facts: os.stat_result, path: str) -> None:
    if stat.S_ISLNK(facts.st_mode):
        raise ThroughLink(path, os.path.realpath(path))
    for is_kind, words in _KINDS:
        if is_kind(facts.st_mode):
            raise NotRegular(path, words)
