"""Output that moves the cursor, as text: replayed on a screen with everything that scrolled off.

Rows that wrapped are joined again, blanks at line ends and blank rows at the end go. A program that
took the whole screen leaves the main screen's text and one line that says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from efr.shell.feeder import Feeder
from efr.shell.screen import TerminalScreen

FULL_SCREEN: Final = "[a full-screen program ran here; what it showed is gone]"
_MOST_ROWS: Final = 200  # a progress display taller than this is rare, and rows cost time
_NO_LIMIT: Final = 1 << 24  # rows that scrolled off: never more than the bytes there are


def replay(data: bytes, columns: int, rows: int) -> str:
    """The text that stands on the screen and above it after `data`."""
    needed = data.count(b"\n") + 1
    screen = TerminalScreen(columns, max(rows, min(needed, _MOST_ROWS)), _NO_LIMIT)
    Feeder(screen).feed(data)
    text = joined(screen.main_rows())
    if screen.used_alternate:
        text = f"{text}\n{FULL_SCREEN}" if text else FULL_SCREEN
    return text


def joined(rows: Iterable[tuple[str, bool]]) -> str:
    """The lines of (text, wraps) rows, without the blank ones at the end."""
    lines: list[str] = []
    open_line = ""
    for text, wraps in rows:
        open_line += text
        if not wraps:
            lines.append(open_line.rstrip(" "))
            open_line = ""
    lines.append(open_line.rstrip(" "))
    return "\n".join(lines).rstrip("\n")
