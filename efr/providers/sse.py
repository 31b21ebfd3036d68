"""Server-sent events: bytes in, events out.

Pure; one decoder per response, fed from one thread. Follows the WHATWG HTML standard, section
9.2.6 "Interpreting an event stream": a chunk may end inside a line, between CR and LF, inside a
UTF-8 sequence or the BOM. Comments, `id` and `retry` are dropped: nothing here reconnects.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

EVENT_LIMIT_BYTES: Final = 16 * 2**20  # the wire's frame limit: nothing larger could be passed on

_LINE_END: Final = re.compile(rb"\r\n|\r|\n")
_BOM: Final = b"\xef\xbb\xbf"


class EventTooLarge(Exception):
    """One event is larger than EVENT_LIMIT_BYTES."""


class ServerEvent(Struct, frozen=True):
    """One event; type is "message" when the stream named none."""

    type: str
    data: str


class SseDecoder:
    """Turns chunks of bytes into events. An event without its blank line is never given out."""

    def __init__(self, limit_bytes: int = EVENT_LIMIT_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._line = bytearray()  # the line that has not ended yet
        self._at_start = True
        self._after_cr = False  # a LF now belongs to the CR before it
        self._data: list[str] = []
        self._data_bytes = 0
        self._type = ""

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that this chunk completes. Raises EventTooLarge."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        events: list[ServerEvent] = []
        start = 0
        for end in _LINE_END.finditer(chunk):
            self._line += chunk[start : end.start()]
            start = end.end()
            self._check_size()
            event = self._take_line()
            if event is not None:
                events.append(event)
        self._after_cr = chunk.endswith(b"\r")
        self._line += chunk[start:]
        self._check_size()
        return events

    def _check_size(self) -> None:
        if len(self._line) + self._data_bytes > self._limit_bytes:
            raise EventTooLarge

    def _take_line(self) -> ServerEvent | None:
        line = bytes(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b":"):
            return None
        name, _, raw = line.partition(b":")
        value = raw.removeprefix(b" ").decode("utf-8", "replace")
        if name == b"data":
            self._data.append(value)
            self._data_bytes += len(raw)
        elif name == b"event":
            self._type = value
        return None

    def _dispatch(self) -> ServerEvent | None:
        data, kind = self._data, self._type
        self._data, self._data_bytes, self._type = [], 0, ""
        return ServerEvent(kind or "message", "\n".join(data)) if data else None
