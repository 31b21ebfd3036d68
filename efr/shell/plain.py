"""Output that only runs down the screen, as text: a cleaner of bytes.

Pure. Escape sequences go, CR LF is a newline, text after a bare CR replaces its line, a backspace
takes one character back, tabs stay, other controls go, bad UTF-8 becomes U+FFFD. Output that moves
the cursor in other ways is replayed on a screen (`replay.py`); `moves_cursor` says which it is.
"""

from __future__ import annotations

import re
from typing import Final

# What the cleaner cannot show: cursor moves, erasing more than the rest of the line, inserting,
# deleting, scrolling, repeating, a saved cursor, the alternate screen, line drawing, a reset. A
# scroll region alone changes nothing that runs down.
_MOVES: Final = re.compile(
    rb"\x1b(?:"
    rb"\[[0-9;:]*[@A-JLMPSTXZ`abdefsu]"
    rb"|\[[12]K|\[\?[0-9;]*J|\[(?:[0-9]+;)*4h"
    rb"|\[\?(?:[0-9]+;)*(?:47|1047|1048|1049)[;0-9]*h"
    rb"|[78DEMc]|\(0|#8)"
)
_SEQUENCE: Final = re.compile(
    rb"\x1b(?:"
    rb"\[[0-?]*[ -/]*[@-~]"
    rb"|\][^\x07\x18\x1a\x1b]*(?:\x07|\x1b\\)?"
    rb"|[PX^_][^\x18\x1a\x1b]*(?:\x1b[^\\][^\x18\x1a\x1b]*)*(?:\x1b\\)?"
    rb"|[ -/]*[0-~]"
    rb")?"
)
_ERASED: Final = re.compile(rb"\r(?:\x1b\[[0-9;:]*m)*\x1b\[0?K")
_ERASE: Final = "\0"  # stands for "CR and erase" between two passes; real NULs are gone by then
# Controls that go: all but backspace, tab, newline and carriage return.
_DROPPED: Final = bytes([*range(8), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])
_DROPPED_BUT_NUL: Final = _DROPPED[1:]
_C1: Final = re.compile("[\x80-\x9f]")


def moves_cursor(data: bytes) -> bool:
    """Whether the output needs a screen to be read."""
    return _MOVES.search(data) is not None


def clean(data: bytes) -> str:
    """The text of output that does not move the cursor."""
    if b"\0" in data:
        data = data.replace(b"\0", b"")
    if b"\x1b" in data:
        data = _SEQUENCE.sub(b"", _ERASED.sub(b"\r\0", data))
    data = data.translate(None, _DROPPED_BUT_NUL).replace(b"\r\n", b"\n")
    text = data.decode("utf-8", "replace")
    if not text.isascii():
        text = _C1.sub("", text)
    if "\r" in text or "\b" in text:
        return "\n".join(map(_rewritten, text.split("\n")))
    return text


def clean_size(data: bytes) -> int:
    """How many bytes of UTF-8 the cleaned output has."""
    if data.isascii() and b"\x1b" not in data and b"\b" not in data:
        pairs = data.count(b"\r\n")
        if data.count(b"\r") == pairs:
            return len(data.translate(None, _DROPPED)) - pairs
    return len(clean(data).encode())


def _rewritten(line: str) -> str:
    """What a line shows after its carriage returns and backspaces."""
    if "\r" in line:
        shown, *later = line.split("\r")
        for part in later:
            if part.startswith(_ERASE):
                shown = part[1:]
            elif part:
                shown = part
        line = shown
    return _backspaced(line) if "\b" in line else line


def _backspaced(line: str) -> str:
    kept: list[str] = []
    for char in line:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
