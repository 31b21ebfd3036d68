"""Finds marks and terminal queries in what a PTY prints, without a screen.

Pure, but with state: it survives every chunk border, so any split of a stream gives the same
signs. Owned by the shell whose PTY it is, and fed on pty-reader. Plain output costs one search of
a compiled pattern: text and the sequences that only colour it or move within a row are skipped in
C. Rules: docs/hidden-shell.md, "Marks".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from efr.shell.marks import Mark, read_mark

BODY_LIMIT: Final = 4096  # a longer OSC body is no mark; a clipboard or a picture

# Complete sequences that never move the cursor up, set a mode or start a string: colours,
# moves and erasures within the row, links.
DOWNHILL: Final = rb"\[[0-9;:]*[mKGXPCD@`]|\]8;[^\x00-\x1f]*(?:\x07|\x1b\\)"
NOTEWORTHY: Final = re.compile(rb"\x1b(?!" + DOWNHILL + rb")")

_CSI: Final = re.compile(rb"\x1b\[([<-?]*)([0-9;:]*)([ -/]*)([@-~])")
_UNFINISHED: Final = re.compile(rb"\x1b(?:\[[0-?]*)?[ -/]*\Z")
_OSC_STOP: Final = re.compile(rb"[\x07\x18\x1a\x1b]")
_STRING_STOP: Final = re.compile(rb"[\x18\x1a\x1b]")
_STRINGS: Final = b"PX^_"  # DCS, SOS, PM, APC
_LONG_RUN: Final = 128 << 10  # bytes; a shorter run is quickly read
_MOST_RUNS: Final = 64  # kept; an older one is read when somebody looks that late
_CONTROL_LIMIT: Final = 256  # an unfinished CSI longer than this is noise

ALTERNATE_MODES: Final = frozenset((47, 1047, 1049))
_MOUSE: Final = frozenset((1000, 1002, 1003))
_MOUSE_FORMS: Final = frozenset((1005, 1006, 1015))
_KEYPAD: Final = 66  # has escapes of its own
# The ones that are kept: a program can name any number.
MODES: Final = (
    frozenset((1, 5, 6, 7, 12, 25, _KEYPAD, 1004, 1048, 2004, 2026))
    | ALTERNATE_MODES
    | _MOUSE
    | _MOUSE_FORMS
)
# Of these only the last one counts, and to end any ends it, as in xterm.
_ONE_OF: Final = (ALTERNATE_MODES, _MOUSE, _MOUSE_FORMS)
_MODES_AT_START: Final = frozenset((7, 25))  # autowrap, and the cursor shows
QueryKind = Literal["device", "device2", "status", "cursor", "cursor_dec", "mode", "colour"]


class Query(Struct, frozen=True):
    """A question a program asks its terminal. `number` is a mode or a colour, `end` the offset
    after it, `bell` whether BEL ended it."""

    kind: QueryKind
    end: int
    number: int = 0
    bell: bool = False


Sign = Mark | Query


class PlainRun(NamedTuple):
    """A long piece of output with nothing noteworthy in it, from `start` to `end`. `last_escape` is
    the offset of its last escape byte, -1 for none: after it nothing changes colours either."""

    start: int
    end: int
    last_escape: int


_CSI_QUERIES: Final[dict[bytes, QueryKind]] = {
    b"c": "device",
    b"0c": "device",
    b">c": "device2",
    b">0c": "device2",
    b"5n": "status",
    b"6n": "cursor",
    b"?6n": "cursor_dec",
}


class Scanner:
    """Feeds on chunks in order. `modes` are the DEC modes that are set, `runs` the newest long
    plain runs that ended, oldest first."""

    def __init__(self, start: int = 0, long_run: int = _LONG_RUN) -> None:
        self.modes = _MODES_AT_START
        self.runs: tuple[PlainRun, ...] = ()
        self._last_escape = -1
        self._long_run = long_run
        self._next = start  # offset of the next byte
        self._notable_end = start
        self._held = b""  # an unfinished sequence
        self._inside: Literal["", "osc", "string"] = ""  # what is being skipped

    @property
    def alternate(self) -> bool:
        """Whether a program has the alternate screen."""
        return not self.modes.isdisjoint(ALTERNATE_MODES)

    @property
    def open_run(self) -> PlainRun:
        """What came since the last sequence that was more than downhill; empty inside of one."""
        start = self._next if self._held or self._inside else self._notable_end
        return PlainRun(start, self._next, self._last_escape)

    def gap(self, offset: int) -> None:
        """Bytes are missing; the next one is at `offset`. An unfinished sequence is dropped."""
        self._next = offset
        self._held = b""
        self._inside = ""
        self._notable_end = offset

    def feed(self, data: bytes) -> list[Sign]:
        """The marks and queries that end in `data`, in order."""
        base = self._next - len(self._held)
        self._next += len(data)
        escape = data.rfind(b"\x1b")
        if escape < 0 and not self._held and not self._inside:
            return []
        if self._held:
            data = self._held + data
            self._held = b""
        signs = list(self._signs(data, base))
        if escape >= 0:
            self._last_escape = base + data.rfind(b"\x1b")
        return signs

    def _signs(self, data: bytes, base: int) -> Iterator[Sign]:
        at = 0
        if self._inside:
            at = self._skipped(data)
            self._notable_end = base + at
        while at < len(data):
            found = NOTEWORTHY.search(data, at)
            if found is None:
                break
            start = found.start()
            if base + start - self._notable_end >= self._long_run:
                self._end_run(data, start, base)
            sign, at = self._sequence(data, start, base)
            if not self._held:
                self._notable_end = base + at
            if sign is not None:
                yield sign

    def _end_run(self, data: bytes, end: int, base: int) -> None:
        """A long run ends at index `end`."""
        escape = data.rfind(b"\x1b", 0, end)
        last_escape = base + escape if escape >= 0 else self._last_escape
        run = PlainRun(self._notable_end, base + end, last_escape)
        self.runs = (*self.runs[1 - _MOST_RUNS :], run)

    def _sequence(self, data: bytes, start: int, base: int) -> tuple[Sign | None, int]:
        """The sign of the sequence at `start`, and where to go on."""
        kind = data[start + 1 : start + 2]
        if kind == b"]":
            return self._osc(data, start, base)
        if kind and kind in _STRINGS:
            self._inside = "string"
            return None, self._skipped(data, start + 2)
        csi = _CSI.match(data, start) if kind == b"[" else None
        if csi is not None and len(csi[0]) <= _CONTROL_LIMIT:
            return self._csi(csi, base), csi.end()
        if _UNFINISHED.match(data, start) and len(data) - start <= _CONTROL_LIMIT:
            self._held = data[start:]
            return None, len(data)
        if kind == b"c":
            self.modes = _MODES_AT_START
        elif kind == b"=":
            self.modes |= {_KEYPAD}
        elif kind == b">":
            self.modes -= {_KEYPAD}
        return None, start + 1

    def _osc(self, data: bytes, start: int, base: int) -> tuple[Sign | None, int]:
        stop = _OSC_STOP.search(data, start + 2)
        end = stop.start() if stop else len(data)
        too_long = end - start - 2 > BODY_LIMIT
        if stop is None or (data[end] == 0x1B and end + 1 == len(data)):
            if too_long:
                self._inside = "osc"
                self._held = data[end:]
            else:
                self._held = data[start:]
            return None, len(data)
        if data[end] == 0x1B and data[end + 1] != 0x5C:
            return None, end
        after = end + (2 if data[end] == 0x1B else 1)
        if too_long or data[end] in (0x18, 0x1A):
            return None, after
        body = data[start + 2 : end]
        colour = _colour_query(body, base + after, data[end] == 7)
        return colour or read_mark(body, base + start, base + after - 1), after

    def _skipped(self, data: bytes, at: int = 0) -> int:
        """Where the string that is being skipped ends; past the data when it goes on."""
        stops = _OSC_STOP if self._inside == "osc" else _STRING_STOP
        while True:
            stop = stops.search(data, at)
            if stop is None:
                return len(data)
            at = stop.start()
            if data[at] != 0x1B:
                self._inside = ""
                return at + 1
            if at + 1 == len(data):
                self._held = b"\x1b"
                return len(data)
            if data[at + 1] == 0x5C:
                self._inside = ""
                return at + 2
            if self._inside == "osc":
                self._inside = ""
                return at
            at += 2 if data[at + 1] == 0x1B else 1

    def _csi(self, csi: re.Match[bytes], base: int) -> Query | None:
        prefix, numbers, middle, final = csi.groups()
        end = base + csi.end()
        if prefix == b"?" and not middle and final in b"hl":
            for number in numbers.split(b";"):
                self._set(number, final == b"h")
        elif not prefix and middle + final == b"!p":  # DECSTR
            self.modes = self.modes - {1, 6, _KEYPAD} | _MODES_AT_START
        if prefix == b"?" and middle == b"$" and final == b"p" and numbers.isdigit():
            return Query("mode", end, int(numbers))
        kind = _CSI_QUERIES.get(prefix + numbers + middle + final)
        return Query(kind, end) if kind else None

    def _set(self, number: bytes, on: bool) -> None:
        mode = int(number) if number.isdigit() else 0
        if mode in MODES:
            group = next((one for one in _ONE_OF if mode in one), frozenset((mode,)))
            self.modes = self.modes - group | ({mode} if on else frozenset())


def _colour_query(body: bytes, end: int, bell: bool) -> Query | None:
    if body in (b"10;?", b"11;?"):
        return Query("colour", end, int(body[:2]), bell)
    return None
