"""The keyboard of a session: the terminal's key mode, and one buffer that bytes are read into.

Owns the descriptor's mode while it is on. What was read may be a secret, so the buffer is wiped
after every use and no bytes object of it is made unless the keys may be known.
"""

from __future__ import annotations

import os

from efr.cli.view.keymode import KeyMode

BUFFER = 4096  # the kernel's line buffer of a terminal


class Keyboard:
    """One terminal's keys."""

    def __init__(self, mode: KeyMode) -> None:
        self._mode = mode
        self._buffer = bytearray(BUFFER)

    def fileno(self) -> int:
        """For a selector."""
        return self._mode.descriptor

    def read(self) -> memoryview:
        """What was typed, without waiting for more. Valid until `wipe`; empty at a hang-up."""
        try:
            size = os.readv(self._mode.descriptor, [self._buffer])
        except OSError:
            size = 0
        return memoryview(self._buffer)[:size]

    def read_waiting(self) -> memoryview:
        """What waits in the terminal now; empty when nothing does."""
        return self.read() if self._mode.waiting_bytes() else memoryview(self._buffer)[:0]

    def wipe(self) -> None:
        """Overwrites what the last read took."""
        self._buffer[:] = bytes(BUFFER)

    def discard(self) -> None:
        """Throws away what was typed and not read."""
        self._mode.discard()

    def on(self) -> bool:
        """Sets the key mode again, after a stop; False when the terminal is not ours."""
        return self._mode.set()

    def off(self) -> None:
        """Gives the terminal its old mode back."""
        self._mode.restore()
