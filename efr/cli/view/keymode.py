"""The terminal's mode while keys are read: no line editing, no echo, signals on.

Owns the saved mode and gives it back on every way out. Light, because it is set before the prompt
goes out: what is typed from then on is kept and not echoed.
"""

from __future__ import annotations

import os
import termios

_IFLAG, _LFLAG, _CC = 0, 3, 6


class KeyMode:
    """The mode of one terminal."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._saved: list[object] | None = None

    @property
    def on(self) -> bool:
        """Whether the mode is set."""
        return self._saved is not None

    def set(self) -> bool:
        """Sets the mode; False when this is no terminal of ours (a job in the background)."""
        try:
            if os.tcgetpgrp(self.descriptor) != os.getpgrp():
                return False
            mode = termios.tcgetattr(self.descriptor)
        except (OSError, termios.error):
            return False
        self._saved = self._saved or mode
        keys = [*mode[:_CC], list(mode[_CC])]
        keys[_IFLAG] &= ~termios.ICRNL
        keys[_LFLAG] &= ~(termios.ICANON | termios.ECHO)
        keys[_CC][termios.VMIN], keys[_CC][termios.VTIME] = 0, 1  # 0.1 s: longer is Esc alone
        termios.tcsetattr(self.descriptor, termios.TCSADRAIN, keys)
        return True

    def restore(self) -> None:
        """Gives the old mode back; what was typed and not read stays for the shell."""
        if self._saved is None:
            return
        saved, self._saved = self._saved, None
        try:
            termios.tcsetattr(self.descriptor, termios.TCSADRAIN, saved)  # type: ignore[arg-type]
        except termios.error:
            return  # the terminal is gone, and its mode with it

    def waiting_bytes(self) -> int:
        """Bytes that were typed and not read yet (FIONREAD)."""
        import fcntl

        size = fcntl.ioctl(self.descriptor, termios.FIONREAD, b"\0\0\0\0")
        return int.from_bytes(size, "little")

    def discard(self) -> None:
        """Throws unread input away."""
        termios.tcflush(self.descriptor, termios.TCIFLUSH)
