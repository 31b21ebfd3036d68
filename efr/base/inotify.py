"""inotify(7): the kernel tells when names in a directory change. One descriptor, no thread.

Through libc, because the file watchers for Python look at their queue many times a second; this
one is waited for with a selector and costs nothing while nothing happens. Directories are watched,
never files: a save by rename makes a new file.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import Final

from msgspec import Struct

# Of sys/inotify.h.
_ATTRIB: Final = 0x4  # also permissions: a file that became readable
_CLOSE_WRITE: Final = 0x8
_MOVED: Final = 0x40 | 0x80
_CREATE: Final = 0x100
_DELETE: Final = 0x200
_DELETE_SELF: Final = 0x400
_MOVE_SELF: Final = 0x800
_UNMOUNT: Final = 0x2000
_OVERFLOW: Final = 0x4000
_IGNORED: Final = 0x8000
_ONLYDIR: Final = 0x01000000

_MASK: Final = (
    _ATTRIB | _CLOSE_WRITE | _MOVED | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF | _ONLYDIR
)
_LOST: Final = _DELETE_SELF | _MOVE_SELF | _UNMOUNT | _OVERFLOW | _IGNORED
_HEAD: Final = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_READ_BYTES: Final = 64 * 1024  # far above one event with the longest name


class Changed(Struct, frozen=True):
    """A name in a watched directory changed; `lost`: the directory itself went, or the kernel
    dropped events, and what is watched must be set up anew."""

    watch: int
    name: str
    lost: bool


class Inotify:
    """One descriptor and its watches. Used by one thread."""

    def __init__(self) -> None:
        """Raises OSError: this kernel has none, or too many are open (EMFILE)."""
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._checked(self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))

    def fileno(self) -> int:
        return self._fd

    def watch(self, directory: str) -> int:
        """Watches a directory; returns the number that its changes carry. Raises OSError."""
        path = ctypes.c_char_p(os.fsencode(directory))
        return self._checked(self._libc.inotify_add_watch(self._fd, path, _MASK))

    def read(self) -> list[Changed]:
        """What happened so far, in order. Never blocks."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return []
        return decode(data)

    def close(self) -> None:
        os.close(self._fd)

    def _checked(self, result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result


def decode(data: bytes) -> list[Changed]:
    """The events of one read, which are always whole."""
    found = []
    at = 0
    while at < len(data):
        watch, mask, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
        at += length
        found.append(Changed(watch, name, bool(mask & _LOST)))
    return found
