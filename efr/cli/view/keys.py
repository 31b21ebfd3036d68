"""Bytes of a keyboard to keys, in whatever pieces they arrive.

Pure. An escape byte with nothing after it is a key only when the caller says that the time for
more is over. Sequences: xterm's control sequences, "PC-style function keys"; bracketed paste.
"""

from __future__ import annotations

import re

from msgspec import Struct

ESCAPE_S = 0.1  # as the terminal mode's VTIME: the rest of a sequence follows at once
_PASTE_END = b"\x1b[201~"
_SEQUENCE = rb"(?s)\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O])"
_PLAIN = rb"[^\x00-\x1f\x7f]+"

_NAMES = {
    b"\r": "enter",
    b"\n": "newline",
    b"\t": "tab",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x01": "home",
    b"\x05": "end",
    b"\x06": "right",
    b"\x04": "delete",
    b"\x15": "kill_to_start",
    b"\x0b": "kill_to_end",
    b"\x17": "kill_to_blank",
    b"\x02": "background",
    b"\x1b\r": "newline",
    b"\x1bb": "word_left",
    b"\x1bf": "word_right",
    b"\x1b\x7f": "kill_word",
    b"\x1b\x08": "kill_word",
    b"\x1b[C": "right",
    b"\x1b[D": "left",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1b[1~": "home",
    b"\x1b[4~": "end",
    b"\x1b[7~": "home",
    b"\x1b[8~": "end",
    b"\x1b[3~": "delete",
    b"\x1b[1;5D": "word_left",
    b"\x1b[1;3D": "word_left",
    b"\x1b[1;5C": "word_right",
    b"\x1b[1;3C": "word_right",
    b"\x1b[1;3A": "take_back",
    b"\x1b[200~": "paste",
    b"\x1bOC": "right",
    b"\x1bOD": "left",
    b"\x1bOH": "home",
    b"\x1bOF": "end",
}


class Key(Struct, frozen=True):
    """One key. `name` is `text` for what was typed, `paste` for what was pasted."""

    name: str
    text: str = ""


class KeyReader:
    """The state of one keyboard."""

    def __init__(self) -> None:
        self._held = b""
        self._pasting = False

    @property
    def escape_waits(self) -> bool:
        """Whether a lone escape byte waits for the rest of a sequence."""
        return self._held == b"\x1b" and not self._pasting

    def feed(self, data: bytes) -> list[Key]:
        """The keys that `data` completes."""
        self._held += data
        keys: list[Key] = []
        while self._held:
            key, size = self._paste() if self._pasting else self._next()
            if size == 0:
                break
            self._held = self._held[size:]
            if key is not None and key.name == "paste" and not self._pasting and not key.text:
                self._pasting = True
            elif key is not None:
                keys.append(key)
        return keys

    def time_is_over(self) -> list[Key]:
        """No byte follows: a lone escape byte is the key Esc."""
        if not self.escape_waits:
            return []
        self._held = b""
        return [Key("esc")]

    def _paste(self) -> tuple[Key | None, int]:
        """A whole paste, or nothing yet."""
        end = self._held.find(_PASTE_END)
        if end < 0:
            return None, 0
        self._pasting = False
        text = self._held[:end].decode("utf-8", "replace")
        pasted = Key("paste", text.replace("\r\n", "\n").replace("\r", "\n"))
        return (pasted if pasted.text else None), end + len(_PASTE_END)

    def _next(self) -> tuple[Key | None, int]:
        """The next key and how many bytes it has; 0 when more bytes are needed."""
        if self._held[:1] == b"\x1b":
            found = re.match(_SEQUENCE, self._held)
            if found is None:
                return None, 0
            name = _NAMES.get(found[0])
            return (Key(name) if name else None), len(found[0])
        plain = re.match(_PLAIN, self._held)
        if plain is None:
            name = _NAMES.get(self._held[:1])
            return (Key(name) if name else None), 1
        return self._text(plain[0])

    def _text(self, data: bytes) -> tuple[Key | None, int]:
        """Typed text, without a character whose last bytes have not come yet."""
        missing = _incomplete(data)
        whole = data[: len(data) - missing]
        if not whole:
            return (None, 0) if len(self._held) == len(data) else (None, len(data))
        return Key("text", whole.decode("utf-8", "replace")), len(whole)


def _incomplete(data: bytes) -> int:
    """Bytes at the end of `data` that begin a UTF-8 character without ending it."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        size = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if size > back else 0
    return 0
