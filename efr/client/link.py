"""One framed connection to the daemon's Unix socket: bodies out, complete bodies in.

Owns the socket; no thread of its own, one thread at a time may use it. Knows frames as bytes
(docs/protocol.md, "Transport") and nothing of what they say. The command sends its first frames
before it loads anything large, so the reader of frames loads with the first read.
"""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

from efr.client.errors import BadReply, ConnectionLost, NoAnswer, NoDaemon

if TYPE_CHECKING:
    from efr.wire.framing import FrameReader

READ_SIZE = 256 * 1024  # the kernel's usual socket buffer: one read takes what waits
SEND_SILENCE_S = 10.0  # a daemon that takes no byte for this long is stuck, not slow
_PREFIX = 4


def pack(body: bytes) -> bytes:
    """The body behind its length; `efr.wire.framing.pack` without its imports."""
    return len(body).to_bytes(_PREFIX, "big") + body


class Link:
    """A connected socket. Use as a context manager, or call `close`."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sock.settimeout(SEND_SILENCE_S)
        self._reader: FrameReader | None = None

    @classmethod
    def open(cls, path: str) -> Link:
        """Connects to the socket at `path`. Raises NoDaemon when nothing listens there."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(path)
        except OSError as exc:
            sock.close()
            raise NoDaemon(path) from exc
        return cls(sock)

    def fileno(self) -> int:
        """For a selector: readable means `receive` does not block."""
        return self._sock.fileno()

    def send(self, *bodies: bytes) -> None:
        """Sends whole frames in one write, as far as the kernel takes them.

        Raises ConnectionLost, or NoAnswer when the daemon takes nothing for SEND_SILENCE_S.
        """
        self._send(b"".join(pack(body) for body in bodies))

    def send_parts(self, *parts: bytes | memoryview) -> None:
        """Sends one frame from its parts, without joining them into a copy. Raises as `send`."""
        size = sum(len(part) for part in parts)
        self._send(size.to_bytes(_PREFIX, "big"))
        for part in parts:
            self._send(part)

    def _send(self, data: bytes | memoryview) -> None:
        try:
            self._sock.sendall(data)
        except TimeoutError as exc:
            raise NoAnswer(SEND_SILENCE_S) from exc
        except OSError as exc:
            raise ConnectionLost from exc

    def wait(self, silence_s: float | None = None) -> bool:
        """Blocks until there is something to read; False after `silence_s` seconds without."""
        waiting = select.poll()
        waiting.register(self._sock, select.POLLIN)
        return bool(waiting.poll(None if silence_s is None else silence_s * 1000))

    def receive(self) -> list[bytes]:
        """The bodies of the frames that one read completes: maybe none. Blocks for a byte.

        Raises ConnectionLost at the end of the stream, BadReply when it is out of step.
        """
        self.wait()
        try:
            data = self._sock.recv(READ_SIZE)
        except OSError as exc:
            raise ConnectionLost from exc
        if not data:
            raise ConnectionLost
        return self._read(data)

    def _read(self, data: bytes) -> list[bytes]:
        from efr.wire.errors import FrameTooLarge
        from efr.wire.framing import FrameReader

        if self._reader is None:
            self._reader = FrameReader()
        try:
            return self._reader.feed(data)
        except FrameTooLarge as exc:
            raise BadReply("", "a frame is larger than the protocol allows") from exc

    def close(self) -> None:
        """Closes the socket. May be called twice."""
        self._sock.close()

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
