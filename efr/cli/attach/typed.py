"""The detach key in what is typed. Pure, with state over the borders of reads.

A paste may hold the same byte: between the signs of a bracketed paste it is text. By itself in a
read it is the key all the same, so that a paste whose end got lost holds nobody.
"""

from __future__ import annotations

import re
from typing import Final

DETACH: Final = b"\x1d"  # Ctrl+]
_SIGN: Final = re.compile(rb"\x1b\[(20[01])~|\x1d")
_TAIL: Final = 5  # bytes of a sign that may have come before


class Typed:
    """What one terminal types."""

    def __init__(self) -> None:
        self._tail = b""
        self._in_paste = False

    def take(self, typed: bytes) -> tuple[bytes, bool]:
        """The keys for the program, and whether the detach key came after them."""
        if typed == DETACH:
            return b"", True
        before = len(self._tail)
        text = self._tail + typed
        for sign in _SIGN.finditer(text):
            if sign.end() <= before:
                continue
            if sign[1]:
                self._in_paste = sign[1] == b"200"
            elif not self._in_paste:
                return text[before : sign.start()], True
        self._tail = text[-_TAIL:]
        return typed, False
