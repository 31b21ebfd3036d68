"""The user's terminal while a hidden shell's screen is on it.

Owns its mode and its alternate screen from `enter` to `leave`, and gives both back on every way
out. What was typed and not read is thrown away then: keys for a program of the hidden shell must
not become a line of the user's own.
"""

from __future__ import annotations

import os
import termios
import tty
from typing import Final

from efr.cli.attach.paint import KEY_MODES

_TITLE: Final = "\x1b]2;efr attach: Ctrl+] detaches\x07"
_ENTER: Final = "\x1b[?1049h\x1b[22;2t" + _TITLE  # most terminals keep the title of before
_LEAVE: Final = (
    f"\x1b[?{';'.join(map(str, KEY_MODES))}l\x1b>\x1b[?5;6l\x1b[?7;25h\x1b[4l\x1b[20l"
    "\x1b(B\x1b[r\x1b[m\x1b[?2026l\x1b]2;\x07\x1b[23;2t\x1b[?1049l"
)
READ_SIZE: Final = 32 << 10  # of keys at once: half of what one write may hold


class TerminalGone(Exception):
    """Nothing can be drawn any more: the terminal hung up."""


class Window:
    """One terminal, by the descriptors of its keys and its screen. A context manager."""

    def __init__(self, keys: int = 0, screen: int = 1) -> None:
        self.keys = keys
        self._screen = screen
        self._saved: list[object] | None = None

    def __enter__(self) -> Window:
        self.enter()
        return self

    def __exit__(self, *exc: object) -> None:
        self.leave()

    def enter(self) -> None:
        """Raw keys, and a screen of its own."""
        self._saved = termios.tcgetattr(self.keys)
        try:
            tty.setraw(self.keys, termios.TCSADRAIN)
            self.draw(_ENTER.encode())
        except BaseException:
            self.leave()
            raise

    def leave(self) -> None:
        """As it was before. May be called twice."""
        saved, self._saved = self._saved, None
        if saved is None:
            return
        try:
            self.draw(_LEAVE.encode())
            termios.tcsetattr(self.keys, termios.TCSAFLUSH, saved)  # type: ignore[arg-type]
        except (TerminalGone, termios.error):
            return  # the terminal is gone, and its mode with it

    def draw(self, data: bytes) -> None:
        """Writes all of it; blocks as long as the terminal does. Raises TerminalGone."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._screen, view) :]
        except OSError as exc:
            raise TerminalGone from exc

    def read(self) -> bytes:
        """What was typed; empty when the terminal is gone."""
        try:
            return os.read(self.keys, READ_SIZE)
        except OSError:
            return b""

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows); 80 by 24 when the terminal does not know."""
        try:
            columns, rows = os.get_terminal_size(self._screen)
        except OSError:
            columns = rows = 0
        return (columns, rows) if columns and rows else (80, 24)
