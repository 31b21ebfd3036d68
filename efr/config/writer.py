"""Writing config.toml: onto the text that a change was made from, or not at all.

A link is followed to its end, and the link stays. The new text is checked as a load would check
it, compared, and put in place by one rename. Between efr's own processes a lock on the directory
keeps one change behind another; an editor that saves meanwhile is seen by the comparison. Any
thread; blocks on the file system.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from efr.base.files import make_private_dir, write_atomic
from efr.config.errors import ChangedMeanwhile, ConfigError, LinkToNothing, WriteFailed
from efr.config.load import read, read_file

_READ_ONLY: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
TRIES: Final = 3  # plans of one change; a file that changes faster is being written by somebody


class Original(Struct, frozen=True):
    """The file as it was read for a change. `text` is None where there is no file."""

    path: Path  # as it is named: maybe a link
    real: Path  # the file behind it
    text: str | None


def open_original(path: Path) -> Original:
    """The file of now. Raises LinkToNothing, and ConfigError for what cannot be read."""
    real = path
    if path.is_symlink():
        real = Path(os.path.realpath(path))
        if not real.exists():
            raise LinkToNothing(path, str(real))
    if not real.exists():
        return Original(path, real, None)
    data = read_file(real)
    try:
        return Original(path, real, data.decode())
    except UnicodeDecodeError as exc:
        raise ConfigError(f"the file is not UTF-8 (byte {exc.start})") from exc


def save(original: Original, text: str) -> None:
    """Writes the text in place of the original's.

    Raises ConfigError for a text that a load would refuse, ChangedMeanwhile, WriteFailed.
    """
    read(text.encode())
    try:
        make_private_dir(original.real.parent)
        with _lock(original.real.parent):
            if open_original(original.path) != original:
                raise ChangedMeanwhile(original.real)
            write_atomic(original.real, text.encode())
    except OSError as exc:
        why, read_only = f"it cannot be written: {exc.strerror}", exc.errno in _READ_ONLY
        raise WriteFailed(original.real, why, read_only=read_only) from exc


def change(path: Path, plan: Callable[[Original], str | None]) -> Original | None:
    """Plans and saves, again while somebody else writes, at most three times.

    Returns what was changed; None when there was nothing to do (the plan gave None or the text as
    it is). Raises as `open_original` and `save`, and what the plan raises.
    """
    for attempt in range(1, TRIES + 1):
        original = open_original(path)
        text = plan(original)
        if text is None or text == original.text:
            return None
        try:
            save(original, text)
        except ChangedMeanwhile:
            if attempt == TRIES:
                raise
        else:
            return original
    return None


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Held over a comparison and a rename: a few milliseconds."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
