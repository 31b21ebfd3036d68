"""Numbers in words: ages, durations, counts of tokens, sizes in bytes.

Pure. Values are cut, never rounded up: 1999 tokens are `1.9k`. Negative input counts as 0.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_AGES: Final = (("d", 86_400), ("h", 3_600), ("min", 60))
_COUNTS: Final = (("M", 1_000_000), ("k", 1_000))
_SIZES: Final = ((" TB", 10**12), (" GB", 10**9), (" MB", 10**6), (" KB", 10**3))
_TENTHS_BELOW: Final = 10  # one decimal for 1.0 to 9.9 of a unit, as `ls -h` does


def age_text(age_s: float) -> str:
    """How long ago, for lists: `just now`, `25 min ago`, `2 h ago`, `3 d ago`."""
    for unit, seconds in _AGES:
        if age_s >= seconds:
            return f"{int(age_s // seconds)} {unit} ago"
    return "just now"


def duration_text(duration_s: float) -> str:
    """The two largest units: `45s`, `5m 3s`, `2h 0m`, `3d 4h`."""
    rest = max(int(duration_s), 0)
    for (unit, seconds), (smaller, part) in pairwise(_UNITS):
        if rest >= seconds:
            return f"{rest // seconds}{unit} {rest % seconds // part}{smaller}"
    return f"{rest}s"


def count_text(count: int) -> str:
    """Tokens: `999`, `3.2k`, `24k`, `207k`, `1.2M`."""
    return _scaled(count, _COUNTS) or str(max(count, 0))


def size_text(size_bytes: int) -> str:
    """Bytes in thousands: `512 B`, `3.2 KB`, `1.4 MB`."""
    return _scaled(size_bytes, _SIZES) or f"{max(size_bytes, 0)} B"


def _scaled(value: int, units: tuple[tuple[str, int], ...]) -> str | None:
    """The value in the largest unit that fits, or None below all of them."""
    for unit, size in units:
        if value >= size:
            whole = value // size
            if whole >= _TENTHS_BELOW:
                return f"{whole}{unit}"
            return f"{whole}.{value % size * 10 // size}{unit}"
    return None
