"""How the C library keeps memory for efrd (mallopt(3)).

By itself glibc gives threads up to eight heaps per core, and each of them keeps the room that it
needed once. The history of a long conversation is read on any reader and sent by a thread of its
own, so each heap in turn grew to hold it. efrd's threads take turns anyway.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8  # malloc.h
HEAPS = 2
_LARGE_BYTES = 128 * 1024  # a piece from this size on goes back to the system when it is freed
_SPARE_BYTES = 1 << 20  # free room at the end of a heap that stays


def keep_few_heaps() -> None:
    """Before the first thread. A C library without mallopt stays as it is."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return
    mallopt(_M_ARENA_MAX, HEAPS)
    mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _SPARE_BYTES)
