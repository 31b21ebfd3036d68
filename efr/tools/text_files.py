"""Text files as the file tools read and replace them: bounded, never through a link, never torn.

Reading refuses what is no text; replacing keeps mode, owner and group, and is whole or not at all.
Every failure is a `FileProblem` with a sentence for the model. Blocks on the file system; runs on
the conversation's worker.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from efr.base.files import TEMPORARY_SUFFIX
from efr.text.visible import visible_line
from efr.tools.contract import Closed, nothing_closed
from efr.tools.walk import IsClosed, NotRegular, ThroughLink, parent_of, regular_file

FILE_LIMIT: Final = 16 * 1024 * 1024  # bytes; a larger file is no text a model works on
_SNIFFED: Final = 8 * 1024  # bytes in which a NUL means binary, as in grep and git
_NEW_FILE: Final = 0o644
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What link() says on file systems without hard links: vfat, some network ones.
NO_HARD_LINKS: Final = frozenset((errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK))

Identity = tuple[int, ...]


class FileProblem(Exception):
    """Why a file was not read or written. The message is for the model."""


class Original(Struct, frozen=True):
    """A file as it was found."""

    content: bytes
    facts: os.stat_result


def read_original(path: str, home: str, closed: Closed = nothing_closed) -> Original | None:
    """The file's content and facts, None when there is none. Raises FileProblem."""
    with problems(path):
        try:
            with parent_of(path, home) as (folder, name):
                return _read(folder, name, path, closed)
        except FileNotFoundError:
            return None


def replace(
    path: str,
    home: str,
    content: bytes,
    original: Original | None,
    temporary: str,
    written: Callable[[Identity], object] = lambda _: None,
) -> None:
    """Puts `content` in the place of `original` (None: a file that is not there yet).

    `temporary` is a name part that no other writer uses; `written` is told of the new file before
    it takes its place. Raises FileProblem, also when the file is no longer the original; then
    nothing was written.
    """
    with problems(path), parent_of(path, home, make=True) as (folder, name):
        if original is not None:
            refuse_read_only(folder, name, path)
        beside = f".{temporary}{TEMPORARY_SUFFIX}"
        new = write_beside(folder, beside, content, original, path)
        try:
            written(new)
            _put_in_place(folder, beside, name, original, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
        sync(folder)


def write_beside(
    folder: int, beside: str, content: bytes, like: Original | None, path: str
) -> Identity:
    """Writes and syncs a new file with the mode and owner of `like`; whole or not there."""
    handle = os.open(beside, _CREATE, 0o600, dir_fd=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            _take_over(file.fileno(), like, path)
            os.fsync(file.fileno())
            return identity(os.fstat(file.fileno()))
    except BaseException:
        os.unlink(beside, dir_fd=folder)
        raise


def _read(directory: int, name: str, path: str, closed: Closed) -> Original:
    with regular_file(directory, name, path, closed) as (handle, facts):
        _check_size(facts.st_size, path)
        with os.fdopen(os.dup(handle), "rb") as file:
            content = file.read(FILE_LIMIT + 1)
    _check_size(len(content), path)  # it may have grown, or tell no size as in /proc
    if b"\0" in content[:_SNIFFED]:
        raise FileProblem(f"{visible_line(path)} is a binary file: it holds NUL bytes.")
    return Original(content, facts)


def _check_size(size_bytes: int, path: str) -> None:
    if size_bytes > FILE_LIMIT:
        raise FileProblem(
            f"{visible_line(path)} has {size_bytes} bytes; files above {FILE_LIMIT} are not read"
            " or written. Use the shell for a part of it."
        )


def refuse_read_only(folder: int, name: str, path: str) -> None:
    """A rename would not ask; the user made the file read-only on purpose. Raises FileProblem."""
    with regular_file(folder, name, path) as (handle, _):
        if not os.access(f"/proc/self/fd/{handle}", os.W_OK, effective_ids=True):
            raise FileProblem(f"{visible_line(path)} is read-only. Nothing was written.")


def _take_over(handle: int, original: Original | None, path: str) -> None:
    """Owner, group, then mode: a change of owner clears bits of the mode."""
    if original is None:
        os.fchmod(handle, _NEW_FILE)
        return
    ours = os.fstat(handle)
    owner = (original.facts.st_uid, original.facts.st_gid)
    if (ours.st_uid, ours.st_gid) != owner:
        try:
            os.fchown(handle, *owner)
        except PermissionError as exc:
            raise FileProblem(
                f"{visible_line(path)} belongs to another user or group, which a new content would"
                " not keep. Nothing was written."
            ) from exc
    os.fchmod(handle, stat.S_IMODE(original.facts.st_mode))


def _put_in_place(
    folder: int, beside: str, name: str, original: Original | None, path: str
) -> None:
    """The last look, then the rename. A file that appears in between is not replaced."""
    if original is None:
        try:
            os.link(beside, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            return
        except OSError as exc:
            if exc.errno == errno.EEXIST:
                raise changed(path) from exc
            if exc.errno not in NO_HARD_LINKS:
                raise
    if identity_of(folder, name) != (None if original is None else identity(original.facts)):
        raise changed(path)
    os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)


def identity_of(folder: int, name: str) -> Identity | None:
    """What stands there now; None: nothing."""
    try:
        return identity(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def identity(facts: os.stat_result) -> Identity:
    """What tells a file from every other, and from itself with another content."""
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_mode)


def changed(path: str) -> FileProblem:
    """What is said of a file that somebody else changed in between."""
    return FileProblem(
        f"{visible_line(path)} changed while it was written. Nothing was written; read it again."
    )


def sync(folder: int) -> None:
    """Makes the rename survive a power loss, where the directory may be read."""
    with contextlib.suppress(PermissionError):
        handle = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def problems(path: str) -> Iterator[None]:
    """Turns what the system says into sentences: OSError and the walk's errors to FileProblem."""
    shown = visible_line(path)
    try:
        yield
    except ThroughLink as exc:
        real = visible_line(exc.real)
        if exc.real == exc.path:
            raise FileProblem(f"{shown} runs through symbolic links in a circle.") from exc
        raise FileProblem(
            f"{shown} runs through a symbolic link. The real path is {real}; use that one."
        ) from exc
    except NotRegular as exc:
        raise FileProblem(f"{shown} is {exc.kind}, not a regular file.") from exc
    except IsClosed as exc:
        raise FileProblem(f"{shown} is {exc.why}.") from exc
    except OSError as exc:
        raise FileProblem(f"{shown}: {exc.strerror or exc}.") from exc
