"""What efr types: a command line into its own zsh, or a sentinel run into any shell.

Pure. The keys are private ones that the integration script binds; nothing else in the hidden
shell's keymap does anything, so what arrives too late for a program neither runs nor shows.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

KEY_CLEAR: Final = b"\x1b[9001~"
KEY_CANCEL: Final = b"\x1b[9002~"
KEY_FORGET: Final = b"\x1b[9003~"
KEY_ACCEPT: Final = b"\x1b[9004~"
KEY_PROBE: Final = b"\x1b[9005~"
_PASTE, _PASTE_END = "\x1b[200~", "\x1b[201~"

_WORD: Final = "efr-call:"  # the fixed half of a sentinel marker; the token is the other
_HELD: Final = 8192  # bytes of an unfinished line: a marker holds at most a path
# Control characters that the terminal or the line editor would take for keys.
_KEYS: Final = re.compile("[\x01-\x08\x0b-\x1f\x7f]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UNPRINTABLE: Final = re.compile("[\x01-\x1f\x7f]")


def refusal(line: str, limit_bytes: int) -> str | None:
    """Why the line cannot be typed, as one sentence, or None."""
    if not line.strip():
        return "The line is blank. Nothing ran."
    if "\0" in line:
        return "The line holds a NUL character. Nothing ran."
    if _PASTE_END in line:
        return "The line holds the end sequence of a bracketed paste. Nothing ran."
    if _SURROGATE.search(line):
        return "The line holds characters that are no text. Nothing ran."
    if len(line.encode()) > limit_bytes:
        return f"The line is longer than {limit_bytes} bytes. Write it to a file. Nothing ran."
    return None


def typed_line(line: str) -> bytes:
    """The keys that run `line` as one command, however many lines it has."""
    line = line.replace("\r\n", "\n")
    if _KEYS.search(line):
        line = "eval " + _dollar_quoted(line)
    return KEY_CLEAR + f"{_PASTE}{line}{_PASTE_END}".encode() + KEY_ACCEPT


class SentinelEnd(Struct, frozen=True):
    """Where the end marker stands in the stream, and what it says."""

    start: int
    status: int
    directory: str


class Sentinel:
    """One sentinel run: what is typed, and finding its two markers in the stream.

    The command is evaluated as one quoted word; the token and the fixed word never stand together
    in the echo. Works in zsh, bash, dash and ksh. Fed on pty-reader.
    """

    def __init__(self, line: str, token: str) -> None:
        self.began: int | None = None  # offset of the output's first byte
        self.end: SentinelEnd | None = None
        self._line = line
        self._token = token
        self._held = b""
        begin = rf"{_WORD}{token}:begin\r*\n"
        end = rf"(?:\r*\n)?{_WORD}{token}:end:([0-9]+):([^\r\n]*)\r*\n"
        self._marker = re.compile(f"{begin}|{end}".encode())

    @property
    def keys(self) -> bytes:
        """What to type."""
        if _UNPRINTABLE.search(self._line):
            escaped = "".join(map(_escaped, self._line))
            word = f'"$(printf %b {_quoted(escaped)})"'
        else:
            word = _quoted(self._line)
        parts = (
            f" printf '%s%s\\n' {_WORD} {self._token}:begin",  # a blank keeps it out of histories
            f"eval {word}",
            f'printf \'\\n%s%s:%s:%s\\n\' {_WORD} {self._token}:end "$?" "$PWD"',
        )
        return ("; ".join(parts) + "\r").encode()

    def feed(self, data: bytes, offset: int) -> bool:
        """Looks for the markers in the chunk at `offset`. Says whether something new was found."""
        start = offset - len(self._held)
        data = self._held + data
        found = False
        at = 0
        while (marker := self._marker.search(data, at)) is not None:
            at = marker.end()
            found = True
            if marker[1] is None:
                self.began = start + at
            elif self.began is not None:
                directory = marker[2].decode("utf-8", "replace")
                self.end = SentinelEnd(start + marker.start(), int(marker[1][:3]), directory)
        last_line = data.rfind(b"\n", 0, len(data) - 1)  # with its newline: it may be a marker's
        while last_line > 0 and data[last_line - 1] == 0x0D:
            last_line -= 1
        self._held = data[max(at, last_line, len(data) - _HELD) :]
        return found


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _escaped(char: str) -> str:
    """One character for printf's %b."""
    if char == "\\":
        return "\\\\"
    return f"\\0{ord(char):03o}" if _UNPRINTABLE.match(char) else char


def _dollar_quoted(text: str) -> str:
    """A `$'...'` word; newlines stay."""
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + _KEYS.sub(lambda found: f"\\x{ord(found[0]):02x}", text) + "'"
