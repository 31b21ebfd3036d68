"""What the kernel knows about a PTY, asked and told through its master.

Who holds the terminal, which modes are set, and signals to whoever runs in front. Never the shell's
own group, except for SIGINT, which is what Ctrl+C does. Any thread may call while the PTY is open.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import struct
import termios
from typing import Final

from msgspec import Struct

_TIOCSIG: Final = 0x40045436  # ioctl_tty(2); the standard library does not name it
_LOCAL_FLAGS: Final = 3  # its place in the list of tcgetattr


class Modes(Struct, frozen=True):
    """The two modes that say how a program reads: by line, and whether keys show."""

    canonical: bool
    echo: bool


def foreground(master: int) -> int | None:
    """The process group that holds the terminal; None when none does."""
    try:
        group = os.tcgetpgrp(master)
    except OSError:
        return None
    return group if group > 0 else None


def modes(master: int) -> Modes | None:
    """How the terminal is set; None when that cannot be read."""
    try:
        flags = termios.tcgetattr(master)[_LOCAL_FLAGS]
    except termios.error:
        return None
    return Modes(bool(flags & termios.ICANON), bool(flags & termios.ECHO))


def resize(master: int, columns: int, rows: int) -> None:
    """Another size; the kernel tells the program in front when it is one (SIGWINCH)."""
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def press_interrupt(master: int) -> None:
    """SIGINT to whoever holds the terminal, whatever its modes and whoever owns the process."""
    try:
        fcntl.ioctl(master, _TIOCSIG, signal.SIGINT)
    except OSError:
        group = foreground(master)
        if group is not None:
            send_group(group, signal.SIGINT)


def signal_program(master: int, number: signal.Signals, shell: int) -> None:
    """Sends a signal to the group in front, unless it is the shell's own."""
    group = foreground(master)
    if group is not None and group != shell:
        send_group(group, number)


def send_group(group: int, number: signal.Signals) -> None:
    """Signals a process group that may be gone, or another user's."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
