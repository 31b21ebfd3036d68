"""Frames on a byte stream: 4 bytes of length, big-endian, then the payload.

A `FrameReader` belongs to one connection and the one thread that reads it. What the payload
says is `frames`. Facts: protocol, framing on the Unix socket.
"""

from __future__ import annotations

from efr.wire.errors import FrameTooLarge, TornFrame

# The protocol's limit in both directions; it bounds what one peer can make the other hold.
MAX_FRAME = 16 * 1024 * 1024
_PREFIX = 4


def pack(body: bytes) -> bytes:
    """The payload behind its length. Raises FrameTooLarge above MAX_FRAME."""
    if len(body) > MAX_FRAME:
        raise FrameTooLarge(len(body), [])
    return len(body).to_bytes(_PREFIX, "big") + body


class FrameReader:
    """Cuts received bytes into payloads, however they arrive."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The payloads that `data` completes, in order.

        Raises FrameTooLarge as soon as a length above MAX_FRAME is in; the payloads before it
        are in the error. The reader is of no use after that.
        """
        held = self._held
        held += data
        frames: list[bytes] = []
        start = 0
        while len(held) - start >= _PREFIX:
            length = int.from_bytes(held[start : start + _PREFIX], "big")
            if length > MAX_FRAME:
                held.clear()
                raise FrameTooLarge(length, frames)
            end = start + _PREFIX + length
            if len(held) < end:
                break
            frames.append(bytes(held[start + _PREFIX : end]))
            start = end
        del held[:start]
        return frames

    def eof(self) -> None:
        """The stream ended. Raises TornFrame inside a frame, its prefix included."""
        held = self._held
        if not held:
            return
        if len(held) < _PREFIX:
            raise TornFrame(_PREFIX - len(held))
        raise TornFrame(_PREFIX + int.from_bytes(held[:_PREFIX], "big") - len(held))
