"""Cutting text that is too long, in the middle or at the end.

Pure. A cut never splits a character and says what it left out. Limits are UTF-8 bytes where the
reader is a model or a store, and characters where it is one line for a person.
"""

from __future__ import annotations

from typing import Final

_NOTE: Final = "[... {} bytes omitted ...]"
_ELLIPSIS: Final = "..."
_NEAR: Final = 4  # a line end within the last 1/4 of a half is near enough to cut there


def cut_middle(text: str, limit_bytes: int) -> tuple[str, bool]:
    """At most `limit_bytes` of UTF-8, head and tail kept; the flag says whether it was cut.

    The line `[... N bytes omitted ...]` stands between the halves. Raises ValueError when the
    limit leaves no room for that line.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit_bytes:
        return text, False
    room = limit_bytes - len(_NOTE.format(len(data))) - 2  # a newline on either side of the note
    if room < 0:
        raise ValueError(f"{limit_bytes} bytes leave no room for the note")
    head_end = _head_end(data, room // 2)
    tail_start = _tail_start(data, len(data) - (room - head_end))
    head, tail = data[:head_end], data[tail_start:]
    gap = b"" if not head or head.endswith(b"\n") else b"\n"
    note = _NOTE.format(tail_start - head_end).encode()
    return (head + gap + note + b"\n" + tail).decode("utf-8", "surrogatepass"), True


def cut_end(text: str, limit: int) -> str:
    """At most `limit` characters (3 or more); a cut ends in three dots."""
    if len(text) <= limit:
        return text
    return text[: limit - len(_ELLIPSIS)].rstrip() + _ELLIPSIS


def _head_end(data: bytes, limit: int) -> int:
    """Where the head ends: after a line end near the limit, else at a character."""
    newline = data.rfind(b"\n", limit - limit // _NEAR, limit)
    if newline >= 0:
        return newline + 1
    while limit > 0 and _is_inside_character(data, limit):
        limit -= 1
    return limit


def _tail_start(data: bytes, start: int) -> int:
    """Where the tail starts: after a line end near the limit, else at a character."""
    near = (len(data) - start) // _NEAR
    newline = data.find(b"\n", max(start - 1, 0), start + near)
    if newline >= 0:
        return newline + 1
    while start < len(data) and _is_inside_character(data, start):
        start += 1
    return start


def _is_inside_character(data: bytes, index: int) -> bool:
    """Whether the byte at `index` continues a UTF-8 sequence."""
    return data[index] & 0xC0 == 0x80
