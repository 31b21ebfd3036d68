"""The terminal's own answers to programs: who it is, how it is set, where the cursor stands.

Pure. Answers of xterm's kind (ctlseqs): a VT220 with colour. A client's terminal is never asked.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from efr.shell.scanner import MODES, Query

_COLOURS: Final = {10: "cccc/cccc/cccc", 11: "1e1e/1e1e/1e1e"}  # light text on a dark screen


def answer(query: Query, modes: Collection[int], cursor: tuple[int, int] | None) -> bytes:
    """What to type back. `cursor` is (column, row) from 0; only cursor queries need it."""
    match query.kind:
        case "device":
            return b"\x1b[?62;22c"
        case "device2":
            return b"\x1b[>1;10;0c"
        case "status":
            return b"\x1b[0n"
        case "mode":
            return b"\x1b[?%d;%d$y" % (query.number, _mode(query.number, modes))
        case "colour":
            end = "\x07" if query.bell else "\x1b\\"
            return f"\x1b]{query.number};rgb:{_COLOURS[query.number]}{end}".encode()
        case "cursor" | "cursor_dec":
            column, row = cursor or (0, 0)
            mark = b"?" if query.kind == "cursor_dec" else b""
            return b"\x1b[%s%d;%dR" % (mark, row + 1, column + 1)


def _mode(number: int, modes: Collection[int]) -> int:
    """Set or reset for those that are kept, 0 for the others."""
    if number not in MODES:
        return 0
    return 1 if number in modes else 2
