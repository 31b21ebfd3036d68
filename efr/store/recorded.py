"""Reads recordings: any range of a PTY's stream from its segment files.

Reads files that another thread may be adding to: what is asked for must have been written before.
A torn tail or a damaged place ends a segment; what is missing is told, never made up.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from efr.store.chunks import OUTPUT, Chunks, Fault, unpack_size

SUFFIX = ".rec"
_BLOCK = 256 << 10  # bytes read at a time: a few chunks
_TRIES = 3  # of a read while segments are being collected


class Output(NamedTuple):
    """Bytes of the stream from an offset on."""

    offset: int
    data: bytes


class Resized(NamedTuple):
    """The terminal has this size from the byte at `offset` on."""

    offset: int
    cols: int
    rows: int


Piece: TypeAlias = Output | Resized


class Mark(NamedTuple):
    """Where a stream offset is: a chunk begins there, `position` bytes into the segment's file."""

    offset: int
    segment: int
    position: int


class RecordedRange(Struct, frozen=True):
    """What there is of a range. `start` is later than asked for when the first segments were
    collected; `missing` are the holes after it, as half-open ranges."""

    start: int
    end: int
    pieces: tuple[Piece, ...]
    missing: tuple[tuple[int, int], ...]

    @property
    def data(self) -> bytes:
        """The output alone."""
        return b"".join(piece.data for piece in self.pieces if isinstance(piece, Output))


def segment_starts(directory: Path) -> list[int]:
    """The offsets at which the segments of a PTY's directory start, ascending."""
    try:
        names = [entry.name for entry in directory.iterdir()]
    except FileNotFoundError:
        return []
    stems = [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def segment_path(directory: Path, start: int) -> Path:
    """The file of the segment that starts at an offset."""
    return directory / f"{start}{SUFFIX}"


def read_range(directory: Path, start: int, end: int, near: Mark | None = None) -> RecordedRange:
    """The stream of a PTY's directory from `start` to `end`, with the sizes at their places.

    `near` is a mark at or before `start`, which saves the walk from the segment's beginning.
    Raises OSError when a segment cannot be read.
    """
    for _ in range(_TRIES - 1):
        try:
            return _read(directory, start, end, near)
        except FileNotFoundError:
            continue  # it was collected just now: what is left begins later
    return _read(directory, start, end, near)


def _read(directory: Path, start: int, end: int, near: Mark | None) -> RecordedRange:
    begins = segment_starts(directory)
    if not begins:
        return RecordedRange(end, end, (), ())
    first = max((begin for begin in begins if begin <= start), default=begins[0])
    start = max(start, first)
    taker = _Taker(start, max(start, end))
    for begin in begins:
        if first <= begin <= taker.end:
            position = 0
            offset = begin
            if near is not None and near.segment == begin and near.offset <= start:
                position, offset = near.position, near.offset
            taker.read(segment_path(directory, begin), position, offset)
    return taker.result()


class _Taker:
    """Collects the pieces of one range, segment by segment."""

    def __init__(self, start: int, end: int) -> None:
        self._start = start
        self.end = end
        self._at = start  # everything before it is taken or missing
        self._pieces: list[Piece] = []
        self._missing: list[tuple[int, int]] = []

    def read(self, path: Path, position: int, offset: int) -> None:
        """Takes what the segment holds of the range; `position` is where `offset` is in it. Reads
        no further than one block behind the range."""
        self._skip_to(offset)
        data = b""
        with path.open("rb", buffering=0) as file:
            file.seek(position)
            while offset <= self.end and (block := file.read(_BLOCK)):
                data += block
                walk = Chunks(data)
                offset = self._walk(walk, data, offset)
                if walk.fault is Fault.CORRUPT:
                    return
                data = data[walk.end :]

    def _walk(self, chunks: Chunks, data: bytes, offset: int) -> int:
        """Takes from the chunks; the offset behind the last one that was looked at."""
        for chunk in chunks:
            if offset > self.end:
                return offset
            if chunk.kind == OUTPUT:
                self._take(offset, data[chunk.begin : chunk.end])
                offset += chunk.end - chunk.begin
            elif offset >= self._start:
                self._pieces.append(Resized(offset, *unpack_size(data[chunk.begin : chunk.end])))
        return offset

    def _take(self, offset: int, data: bytes) -> None:
        inside = data[max(0, self._at - offset) : max(0, self.end - offset)]
        if inside:
            self._pieces.append(Output(self._at, inside))
            self._at += len(inside)

    def _skip_to(self, offset: int) -> None:
        until = min(offset, self.end)
        if until > self._at:
            self._missing.append((self._at, until))
            self._at = until

    def result(self) -> RecordedRange:
        """The range; what did not come is missing."""
        self._skip_to(self.end)
        return RecordedRange(self._start, self.end, tuple(self._pieces), tuple(self._missing))
