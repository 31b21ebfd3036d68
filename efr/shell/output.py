"""One command's output from the recording to the text a model reads.

At most `kept_bytes` of it are read, half from each end; the middle of plain output is only
counted. Blocks on the recording; runs on the thread that waits for the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from efr.shell.excerpt import excerpt, head_part, tail_part
from efr.shell.limits import Limits
from efr.shell.plain import clean, clean_size, moves_cursor
from efr.shell.replay import replay

_CAN: Final = b"\x18"  # stands before each mark; see the integration script
_BLOCK: Final = 1 << 20
_MOST_COUNTED: Final = 8 << 20  # bytes of a middle whose text is counted; above, its raw bytes are
_MOST_REPLAYED: Final = 64 << 10  # bytes for one live tail: a replay of them takes some 50 ms

Read = Callable[[int, int], bytes]


def as_text(data: bytes, limits: Limits) -> str:
    """The text of a piece of output."""
    if moves_cursor(data):
        return replay(data, limits.columns, limits.rows)
    return clean(data)


def output_text(read: Read, start: int, end: int, limits: Limits) -> tuple[str, bool]:
    """The output from `start` to `end` as at most `model_bytes` of text, and whether it was cut."""
    half = limits.kept_bytes // 2
    if end - start <= 2 * half:
        text = as_text(read(start, end).removesuffix(_CAN), limits)
        return excerpt(text, 0, "", limits.model_bytes)
    head = head_part(read(start, start + half), half - 1)
    tail = tail_part(read(end - half, end), half - 1)
    middle_start, middle_end = start + len(head), end - len(tail)
    tail = tail.removesuffix(_CAN)
    if moves_cursor(head) or moves_cursor(tail) or middle_end - middle_start > _MOST_COUNTED:
        omitted = middle_end - middle_start
    else:
        omitted = _text_size(read, middle_start, middle_end)
    return excerpt(as_text(head, limits), omitted, as_text(tail, limits), limits.model_bytes)


def live_tail(read: Read, start: int, end: int, limits: Limits) -> str:
    """The last of the output so far, as text."""
    data = read(max(start, end - 2 * limits.live_bytes), end)
    if moves_cursor(data):
        data = read(max(start, end - _MOST_REPLAYED), end)
        text = replay(data, limits.columns, limits.rows)
    else:
        text = clean(data)
    return tail_part(text.encode("utf-8", "replace"), limits.live_bytes).decode("utf-8", "replace")


def _text_size(read: Read, start: int, end: int) -> int:
    """How many bytes of text the output from `start` to `end` would be."""
    size = 0
    held = b""
    while start < end:
        data = held + read(start, min(start + _BLOCK, end))
        start += _BLOCK
        border = data.rfind(b"\n") + 1 if start < end else len(data)
        border = border or len(data)
        size += clean_size(data[:border])
        held = data[border:]
    return size + clean_size(held)
