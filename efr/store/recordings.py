"""Writes recordings: what one PTY printed, as segment files `<pty_id>/<start offset>.rec`.

The offset of a byte in the stream is its number for `pty.attach` and for the slices of the shell
tool. Segments rotate at 8 MiB. A recording is a resume buffer: when it cannot be written, it is
marked broken with one line in the log, offsets go on, and the shell never notices. The thread that
reads the PTY writes here; any thread may read. A full segment goes to `flush`, which may bring it
to the disk on another thread.
"""

from __future__ import annotations

import bisect
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from efr.base.clock import Clock
from efr.base.files import make_private_dir
from efr.store import chunks
from efr.store.chunks import CHUNK_LIMIT, HEADER_SIZE, OUTPUT, SIZE, Chunks, Fault
from efr.store.recorded import Mark, RecordedRange, read_range, segment_path, segment_starts

log = logging.getLogger("efr.store")

SEGMENT_LIMIT: Final = 8 << 20  # bytes of a file: what a collection can free at a time
_MARK_EVERY: Final = 64 << 10  # stream bytes between two remembered places


class SegmentIndex(Protocol):
    """Keeps one row per segment. Never blocks, never raises."""

    def opened(self, pty_id: str, start_seq: int, at_us: int) -> None:
        """A segment has its first bytes."""

    def closed(self, pty_id: str, start_seq: int, size_bytes: int, at_us: int) -> None:
        """No more of it comes, and it is on disk; `size_bytes` counts stream bytes."""


class Flush(Protocol):
    """Brings an open file to the disk and closes it, now or later; then tells what went wrong."""

    def __call__(self, handle: int, done: Callable[[OSError | None], None], /) -> None:
        """Never raises."""


def flush(handle: int, done: Callable[[OSError | None], None]) -> None:
    """`Flush` here and now: waits for the disk."""
    error = None
    try:
        os.fdatasync(handle)
    except OSError as exc:
        error = exc
    os.close(handle)
    done(error)


class RecordingWriter:
    """The recording of one PTY. Goes on where an earlier one of the same PTY stopped."""

    def __init__(
        self,
        directory: Path,
        pty_id: str,
        clock: Clock,
        index: SegmentIndex | None = None,
        flush: Flush = flush,
    ) -> None:
        self._directory = directory / pty_id
        self._pty_id = pty_id
        self._clock = clock
        self._index = index
        self._flush = flush
        self._unflushed: OSError | None = None  # set by whoever flushes
        self._handle: int | None = None
        self._segment = 0  # the offset at which the open segment starts
        self._position = 0  # bytes in its file
        self._size = 0
        self._broken = False
        self._marks: list[Mark] = []
        try:
            self._resume()
        except OSError as exc:
            self._break(exc)

    @property
    def size(self) -> int:
        """How many bytes the PTY printed so far: the offset of the next one."""
        return self._size

    @property
    def broken(self) -> bool:
        """Whether bytes are missing because they could not be written."""
        return self._broken

    def append(self, data: bytes) -> int:
        """Records output; returns the offset of its first byte. Never raises OSError."""
        offset = self._size
        for begin in range(0, len(data), CHUNK_LIMIT):
            chunk = data[begin : begin + CHUNK_LIMIT]
            self._write(OUTPUT, chunk)
            self._size += len(chunk)
        return offset

    def resize(self, cols: int, rows: int) -> None:
        """Records a new size at the offset of the next byte. Never raises OSError."""
        self._write(SIZE, chunks.pack_size(cols, rows))

    def read(self, start: int, end: int) -> bytes:
        """The output from `start` to `end`; fewer bytes when some are gone. Any thread."""
        return self.read_range(start, end).data

    def read_range(self, start: int, end: int) -> RecordedRange:
        """The same with the sizes and the holes. Any thread. Raises OSError."""
        marks = self._marks  # only ever grows at its end
        # Strictly before `start`: a size right at it stands before the chunk that the mark names.
        found = bisect.bisect_left(marks, start, key=lambda mark: mark.offset)
        near = marks[found - 1] if found else None
        return read_range(self._directory, start, min(end, self._size), near)

    def close(self) -> None:
        """No more bytes come; what there is goes to the disk. May be called twice."""
        if self._handle is not None:
            try:
                self._end_segment()
            except OSError as exc:
                self._break(exc)

    def _write(self, kind: int, data: bytes) -> None:
        if self._broken:
            return
        try:
            handle = self._open_segment(len(data))
            now = self._clock.now_us()
            _write_whole(handle, chunks.header(kind, len(data), now) + data, self._position)
        except OSError as exc:
            self._break(exc)
            return
        if kind == OUTPUT and self._size - self._marks[-1].offset >= _MARK_EVERY:
            self._marks.append(Mark(self._size, self._segment, self._position))
        self._position += HEADER_SIZE + len(data)

    def _open_segment(self, length: int) -> int:
        """The file to write a chunk to: the open one, or a new one when that is full.

        A segment that holds sizes alone never rotates: the next one would have its name.
        """
        is_full = self._position + HEADER_SIZE + length > SEGMENT_LIMIT
        if self._handle is not None and is_full and self._size > self._segment:
            self._end_segment()
        if self._handle is None:
            make_private_dir(self._directory)
            self._begin_segment(self._size)
        assert self._handle is not None
        return self._handle

    def _begin_segment(self, start: int) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        self._handle = os.open(segment_path(self._directory, start), flags, 0o600)
        self._segment, self._position = start, 0
        self._marks.append(Mark(start, start, 0))
        if self._index is not None:
            self._index.opened(self._pty_id, start, self._clock.now_us())

    def _end_segment(self) -> None:
        """Flushed to disk before the index says that it is closed. Raises what kept this or an
        earlier one from that."""
        assert self._handle is not None
        handle, self._handle = self._handle, None
        start, size_bytes = self._segment, self._size - self._segment

        def done(error: OSError | None) -> None:
            if error is not None:
                log.warning("segment %d of %s is not on the disk: %s", start, self._pty_id, error)
                self._unflushed = error
            elif self._index is not None:
                self._index.closed(self._pty_id, start, size_bytes, self._clock.now_us())

        self._flush(handle, done)
        if self._unflushed is not None:
            raise self._unflushed

    def _break(self, exc: OSError) -> None:
        self._broken = True
        log.warning("the recording of %s ends at byte %d: %s", self._pty_id, self._size, exc)
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _resume(self) -> None:
        """Goes on behind what is on disk. A torn tail is cut off; behind a damaged place a new
        segment starts, past every byte that may have been in the old one."""
        if not (starts := segment_starts(self._directory)):
            return
        start = starts[-1]
        path = segment_path(self._directory, start)
        data = path.read_bytes()
        walk = Chunks(data)
        self._size = start + sum(c.end - c.begin for c in walk if c.kind == OUTPUT)
        if walk.fault is Fault.CORRUPT:
            self._size += len(data) - walk.end
            return
        if walk.fault is Fault.TORN:
            os.truncate(path, walk.end)
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self._segment, self._position = start, walk.end
        self._marks.append(Mark(start, start, 0))


def _write_whole(handle: int, data: bytes, position: int) -> None:
    """Writes all of it, or cuts the file back to `position` and raises."""
    try:
        done = os.write(handle, data)
        while done < len(data):
            done += os.write(handle, data[done:])
    except OSError:
        os.ftruncate(handle, position)
        raise
