"""Head and tail of a command's output, when the middle was never read.

Pure. The same form and the same rules as `efr.text.cut.cut_middle` (near a line end, never inside a
character), for output of which only both ends are at hand.
"""

from __future__ import annotations

from typing import Final

from efr.text.cut import cut_middle

_NOTE: Final = "[... {} bytes omitted ...]"
_NEAR: Final = 4  # a line end within the last 1/4 of a half is near enough to cut there


def excerpt(head: str, omitted: int, tail: str, limit_bytes: int) -> tuple[str, bool]:
    """At most about `limit_bytes` of UTF-8; `omitted` bytes between the two are counted along."""
    if not omitted:
        return cut_middle(head + tail, limit_bytes)
    room = limit_bytes // 2 - len(_NOTE.format(omitted))
    first, last = head.encode("utf-8", "replace"), tail.encode("utf-8", "replace")
    kept_first, kept_last = head_part(first, room), tail_part(last, room)
    omitted += len(first) - len(kept_first) + len(last) - len(kept_last)
    gap = b"" if not kept_first or kept_first.endswith(b"\n") else b"\n"
    note = _NOTE.format(omitted).encode()
    return b"".join((kept_first, gap, note, b"\n", kept_last)).decode("utf-8"), True


def head_part(data: bytes, limit: int) -> bytes:
    """The first bytes, at most `limit`: up to a line end when one is near, else whole
    characters."""
    if len(data) <= limit:
        return data
    line_end = data.rfind(b"\n", limit - limit // _NEAR, limit) + 1
    return data[: line_end or _character(data, limit)]


def tail_part(data: bytes, limit: int) -> bytes:
    """The last bytes, at most `limit`: from a line start when one is near, else whole
    characters."""
    if len(data) <= limit:
        return data
    start = len(data) - limit
    line_start = data.find(b"\n", start - 1, start + limit // _NEAR) + 1
    if line_start:
        return data[line_start:]
    while start < len(data) and data[start] & 0xC0 == 0x80:
        start += 1
    return data[start:]


def _character(data: bytes, at: int) -> int:
    """`at`, or the start of the character that it would split."""
    while at > 0 and data[at] & 0xC0 == 0x80:
        at -= 1
    return at
