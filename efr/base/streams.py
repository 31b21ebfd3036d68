"""Standard streams that can be used: a closed one, one that is full, one that is not UTF-8. Light.

A descriptor that is closed would be given to the next file or socket that is opened, and what is
printed would go there.
"""

from __future__ import annotations

import errno
import os
import sys

# A write to one of the streams; another file of efr's would be named in the error.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG})


def make_usable() -> None:
    """Opens what is closed on the null device; lets no character stop the output."""
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed()
    for stream in (sys.stdout, sys.stderr):
        if stream.encoding.lower() not in {"utf-8", "utf8"}:  # a locale of another charset
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _open_closed() -> None:
    descriptor = 0
    while descriptor <= 2:
        descriptor = os.open(os.devnull, os.O_RDWR)
        if descriptor <= 2:
            os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def is_full(error: OSError) -> bool:
    """Whether what was printed could not be written."""
    return error.errno in _FULL and error.filename is None


def drop_stdout() -> None:
    """Keeps the interpreter's own flush at exit from failing on a closed pipe or a full disk."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
