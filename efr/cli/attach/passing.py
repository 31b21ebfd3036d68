"""What a program in the hidden shell prints, as far as the user's terminal may see it.

Pure, with state over chunk borders. Text, moves, erasures, colours and the modes of keys and mouse
pass. Questions to the terminal go, because efrd answers them; so do titles, clipboards, window
operations, other strings, and everything unknown: what a command prints does nothing but draw.
The alternate screen is not passed on, since the whole view stands on it already: who enters it
gets a blank screen, and who leaves it makes `is_stale` true until the daemon's screen was painted.
Source: ECMA-48 and xterm's ctlseqs; the strings end as in docs/hidden-shell.md, "Marks".
"""

from __future__ import annotations

import codecs
import re
from typing import Final

from efr.cli.attach.paint import KEY_MODES, KEYPAD

_TOKEN: Final = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<control>[\x07-\x0d])"
    r"|\x1b\[(?P<prefix>[<-?]*)(?P<numbers>[0-9;:]*)(?P<middle>[ -/]*)(?P<final>[@-~])"
    r"|\x1b(?P<string>[PX^_\]])"
    r"|(?P<charset>\x1b[()][0B])"
    r"|(?P<align>\x1b#8)"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-Z\\`-~])"
    r"|(?P<unfinished>\x1b(?:\[[0-?]*[ -/]*|[ -/]*)\Z)"
    r"|(?s:.)"
)
_STRING_STOP: Final = re.compile(r"[\x07\x18\x1a\x1b]")
_HELD_LIMIT: Final = 4096  # characters of an unfinished sequence; a longer one is noise

_MODE: Final = re.compile("[0-9]{1,9}")  # `int` refuses thousands of digits

_FINALS: Final = frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmrsu")
_ESCAPES: Final = frozenset("78DEHM=>")
_ALTERNATE: Final = frozenset((47, 1047, 1049))
_MODES: Final = frozenset((*KEY_MODES, 5, 6, 7, 25, 2026))
_PLAIN_MODES: Final = frozenset((4, 20))
_BLANK: Final = "\x1b[m\x1b[r\x1b[H\x1b[2J"
_RESET: Final = "\x1b[!p" + _BLANK  # RIS would leave the screen that the view stands on


class Passing:
    """The filter of one attached terminal."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._in_string = False
        self._bell_ends = False  # the open string is an OSC
        self._alternate = False
        self.is_stale = False  # nothing passes until `painted`

    def painted(self, alternate: bool) -> None:
        """The terminal shows the daemon's screen of now: from here on output draws on it."""
        self._alternate = alternate
        self.is_stale = False

    def restart(self) -> None:
        """The stream goes on elsewhere: an unfinished sequence is over."""
        self._decoder.reset()
        self._held, self._in_string = "", False

    def feed(self, data: bytes) -> bytes:
        """The next bytes of the stream, as the terminal may have them."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        at, out = (self._end_of_string(text, 0) if self._in_string else 0), []
        while at < len(text):
            token = _TOKEN.match(text, at)
            assert token is not None  # its last branch takes any character
            at = token.end()
            if token["string"]:
                self._in_string, self._bell_ends = True, token["string"] == "]"
                at = self._end_of_string(text, at)
            elif token["unfinished"] is not None:
                self._held = text[token.start() :][:_HELD_LIMIT]
            elif (passed := self._passed(token)) is not None:
                out.append(passed)
        return "".join(out).encode()

    def _passed(self, token: re.Match[str]) -> str | None:
        if self.is_stale:
            return None
        if token["final"]:
            return self._sequence(token)
        escape = token["escape"]
        if escape == "c":
            return _RESET
        draws = token["text"] or token["control"] or token["charset"] or token["align"]
        return token[0] if draws or escape in _ESCAPES else None

    def _sequence(self, token: re.Match[str]) -> str | None:
        prefix, numbers, middle, final = token.group("prefix", "numbers", "middle", "final")
        if final in "hl" and not middle:
            return self._modes(prefix, numbers, final)
        if middle:
            return token[0] if (prefix, middle + final) == ("", "!p") else None
        if prefix or final not in _FINALS:
            return None
        # 3 J forgets what scrolled off the user's own screen; a T of five numbers tracks the mouse.
        forgets = final == "J" and numbers not in ("", "0", "1", "2")
        return None if forgets or (final == "T" and ";" in numbers) else token[0]

    def _modes(self, prefix: str, numbers: str, final: str) -> str | None:
        """Those that may change, and what the alternate screen becomes."""
        asked = [int(number) for number in numbers.split(";") if _MODE.fullmatch(number)]
        if prefix == "":
            return _set("", [one for one in asked if one in _PLAIN_MODES], final)
        if prefix != "?":
            return None
        out = _set("?", [one for one in asked if one in _MODES], final) or ""
        if KEYPAD in asked:
            out += "\x1b=" if final == "h" else "\x1b>"
        if 1048 in asked:
            out += "\x1b7" if final == "h" else "\x1b8"
        if not _ALTERNATE.isdisjoint(asked):
            out += self._switch(final == "h")
        return out

    def _switch(self, alternate: bool) -> str:
        if alternate == self._alternate:
            return ""
        self._alternate = alternate
        if alternate:
            return "\x1b[m\x1b[r\x1b[2J"
        self.is_stale = True
        return ""

    def _end_of_string(self, text: str, at: int) -> int:
        """Behind an open string, or behind the text when it goes on."""
        while True:
            stop = _STRING_STOP.search(text, at)
            if stop is None:
                return len(text)
            at = stop.end()
            if stop[0] == "\x07" and not self._bell_ends:
                continue
            if stop[0] == "\x1b":
                if at == len(text):
                    self._held = "\x1b"
                    return at
                if text[at] == "\\":
                    at += 1
                elif self._bell_ends:
                    at -= 1  # it begins something new
                else:
                    at += text[at] == "\x1b"  # doubled: payload
                    continue
            self._in_string = False
            return at


def _set(prefix: str, modes: list[int], final: str) -> str | None:
    return f"\x1b[{prefix}{';'.join(map(str, modes))}{final}" if modes else None
