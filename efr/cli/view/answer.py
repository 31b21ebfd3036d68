"""The line that answers a command which waits for input.

Owns one buffer of fixed size that holds what was typed and is overwritten after use. What is
typed never becomes a string here unless it may be shown; it never reaches a log, an exception or
a history (docs/efr.md, "Input for a running command").
"""

from __future__ import annotations

from enum import Enum, auto

LIMIT = 1024  # bytes of one line: the limit of `input.respond`
_ESC, _BACKSPACE, _ERASE = 0x1B, (0x7F, 0x08), 0x15
_ENTER = (0x0D, 0x0A)


class Typed(Enum):
    """What a key did to the line."""

    NOTHING = auto()
    CHANGED = auto()
    SEND = auto()


class _Escape(Enum):
    NONE = auto()
    BEGUN = auto()
    SEQUENCE = auto()


class AnswerLine:
    """One line. `hidden`: it answers a hidden wait; `shown`: it may echo; `manual`: an offer."""

    def __init__(self, call_id: str, *, hidden: bool, shown: bool, manual: bool = False) -> None:
        self.call_id = call_id
        self.hidden = hidden
        self.shown = shown
        self.manual = manual
        self._buffer = bytearray(LIMIT)
        self._size = 0
        self._escape = _Escape.NONE

    def feed(self, data: memoryview) -> Typed:
        """Takes typed bytes up to the one that sends the line; the rest is dropped."""
        done = Typed.NOTHING
        for byte in data:
            typed = self._byte(byte)
            if typed is Typed.SEND:
                return typed
            done = typed if typed is Typed.CHANGED else done
        return done

    def _byte(self, byte: int) -> Typed:
        if self._escape is not _Escape.NONE:
            self._in_escape(byte)
            return Typed.NOTHING
        if byte in _ENTER:
            return Typed.SEND
        if byte == _ESC:
            self._escape = _Escape.BEGUN
            return Typed.NOTHING
        if byte in _BACKSPACE:
            return self._remove_last()
        if byte == _ERASE:
            self.wipe()
            return Typed.CHANGED
        return self._append(byte)

    def _in_escape(self, byte: int) -> None:
        """Skips the escape sequence of a key that does nothing here."""
        if self._escape is _Escape.BEGUN and byte in b"[O":
            self._escape = _Escape.SEQUENCE
        elif self._escape is _Escape.BEGUN or 0x40 <= byte <= 0x7E:
            self._escape = _Escape.NONE

    def _append(self, byte: int) -> Typed:
        if byte < 0x20 or self._size >= LIMIT:
            return Typed.NOTHING
        self._buffer[self._size] = byte
        self._size += 1
        return Typed.CHANGED

    def _remove_last(self) -> Typed:
        """Takes the last character back, all bytes of it."""
        while self._size:
            self._size -= 1
            byte, self._buffer[self._size] = self._buffer[self._size], 0
            if byte & 0xC0 != 0x80:
                break
        return Typed.CHANGED

    @property
    def text(self) -> str:
        """The line, where it may be shown; "" for one that may not."""
        return bytes(self._buffer[: self._size]).decode("utf-8", "replace") if self.shown else ""

    def secret(self) -> memoryview:
        """The bytes themselves, without a copy. The caller releases the view before `wipe`."""
        return memoryview(self._buffer)[: self._size]

    def wipe(self) -> None:
        """Overwrites what was typed."""
        self._buffer[:] = bytes(LIMIT)
        self._size = 0
