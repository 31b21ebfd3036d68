"""The format of a recording's segment file: chunks, each with a header of 16 bytes. Pure.

Header: `efr`, the kind (one byte), the length of what follows (u32, little endian), the time in
microseconds since 1970 (i64, little endian). Kind 1 is output; its bytes are the stream. Kind 2 is
a new size of the terminal at the offset of the next output byte (columns and rows, u16 each, little
endian); it takes no bytes of the stream.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple

OUTPUT: Final = 1
SIZE: Final = 2
CHUNK_LIMIT: Final = 64 << 10  # bytes of one chunk: bounds what a torn write can lose

_MAGIC: Final = b"efr"
_HEADER: Final = struct.Struct("<3sBIq")
_CELLS: Final = struct.Struct("<HH")
HEADER_SIZE: Final = _HEADER.size


class Fault(Enum):
    """Why a segment ends before its file does."""

    TORN = "torn"  # the last write did not get to the disk whole: cut it off and go on
    CORRUPT = "corrupt"  # something that no writer of ours left behind


class Chunk(NamedTuple):
    """A chunk; `begin` and `end` bound its bytes in the data that was parsed."""

    kind: int
    at_us: int
    begin: int
    end: int


class Chunks:
    """Walks over the chunks of a segment, or of its rest from a chunk's start on.

    After the walk `end` is the position behind the last whole chunk, and `fault` says what is
    there instead of the end of the data.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.end = 0
        self.fault: Fault | None = None

    def __iter__(self) -> Iterator[Chunk]:
        data, size = self._data, len(self._data)
        while self.end < size:
            begin = self.end + HEADER_SIZE
            if begin > size:
                self.fault = Fault.TORN
                return
            magic, kind, length, at_us = _HEADER.unpack_from(data, self.end)
            if not _is_header(magic, kind, length):
                self.fault = Fault.CORRUPT if any(data[self.end :]) else Fault.TORN
                return
            if begin + length > size:
                self.fault = Fault.TORN
                return
            self.end = begin + length
            yield Chunk(kind, at_us, begin, self.end)


def _is_header(magic: bytes, kind: int, length: int) -> bool:
    if magic != _MAGIC:
        return False
    return (kind == OUTPUT and 0 < length <= CHUNK_LIMIT) or (kind == SIZE and length == 4)


def header(kind: int, length: int, at_us: int) -> bytes:
    """The 16 bytes before a chunk's own."""
    return _HEADER.pack(_MAGIC, kind, length, at_us)


def pack_size(cols: int, rows: int) -> bytes:
    """The bytes of a size chunk."""
    return _CELLS.pack(cols, rows)


def unpack_size(data: bytes) -> tuple[int, int]:
    """Columns and rows of a size chunk."""
    cols, rows = _CELLS.unpack(data)
    return cols, rows
