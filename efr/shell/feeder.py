"""Reads a terminal stream and drives a screen with it: pyte's stream, made strict.

pyte 0.8.2 prints the payload of DCS and APC strings, of `CSI = 1 u` and of colon SGR as text, and
takes `CSI > 4 m` for a colour. This parser knows every form and drops what the screen has no use
for. It keeps an unfinished sequence for the next chunk. Used by the thread that has the screen.
Source: ECMA-48 and xterm's ctlseqs; the rules for strings are those of `scanner.py`.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import partial
from typing import Final

from efr.shell.screen import TerminalScreen

_TOKEN: Final = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?P<newline>\r\n)"
    r"|(?P<control>[\x07-\x0d])"
    r"|\x1b\[(?P<prefix>[<-?]*)(?P<numbers>[0-9;:]*)(?P<middle>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x18\x1a\x1b]*)(?P<osc_end>\x07|\x1b\\|[\x18\x1a]|\x1b(?!\\|\Z))"
    r"|\x1b(?P<string>[PX^_])"
    r"|\x1b(?P<designate>[ -/]+)(?P<set>[0-~])"
    r"|\x1b(?P<escape>[0-Z\\`-~])"
    r"|(?P<unfinished>\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x18\x1a\x1b]*\x1b?|[ -/]*)\Z)"
    r"|(?P<dropped>(?s:.))"
)
_STRING_STOP: Final = re.compile(r"[\x18\x1a\x1b]")
_HELD_LIMIT: Final = 1 << 20  # an unfinished string longer than this is noise
_TITLE_LIMIT: Final = 256  # characters of a title: a window's bar shows fewer
_KNOWN_LIMIT: Final = 2048  # control sequences whose meaning is kept
_MOST: Final = 9999  # no count and no column is larger
_DIGITS: Final = 5  # of a number, enough to see that it is

_CONTROLS: Final = {
    "\b": "backspace",
    "\t": "tab",
    "\n": "linefeed",
    "\v": "linefeed",
    "\f": "linefeed",
    "\r": "carriage_return",
}
_ESCAPES: Final = {
    "7": "save_cursor",
    "8": "restore_cursor",
    "D": "index",
    "E": "next_line",
    "H": "set_tab_stop",
    "M": "reverse_index",
    "c": "reset",
}
# Final byte to method and how many numbers it takes.
_CSI: Final = {
    "@": ("insert_characters", 1),
    "A": ("cursor_up", 1),
    "B": ("cursor_down", 1),
    "C": ("cursor_forward", 1),
    "D": ("cursor_back", 1),
    "E": ("cursor_down1", 1),
    "F": ("cursor_up1", 1),
    "G": ("cursor_to_column", 1),
    "H": ("cursor_position", 2),
    "I": ("tabs_forward", 1),
    "J": ("erase_in_display", 1),
    "K": ("erase_in_line", 1),
    "L": ("insert_lines", 1),
    "M": ("delete_lines", 1),
    "P": ("delete_characters", 1),
    "S": ("scroll_up", 1),
    "T": ("scroll_down", 1),
    "X": ("erase_characters", 1),
    "Z": ("tabs_back", 1),
    "`": ("cursor_to_column", 1),
    "a": ("cursor_forward", 1),
    "b": ("repeat", 1),
    "d": ("cursor_to_line", 1),
    "e": ("cursor_down", 1),
    "f": ("cursor_position", 2),
    "g": ("clear_tab_stop", 1),
    "r": ("set_margins", 2),
    "s": ("save_cursor", 0),
    "u": ("restore_cursor", 0),
}


class Feeder:
    """Feeds bytes to one screen, in any pieces."""

    def __init__(self, screen: TerminalScreen) -> None:
        self._screen = screen
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self._in_string = False
        self._known: dict[str, tuple[Callable[..., None], list[int]]] = {}
        self._methods: dict[str, Callable[..., None]] = {}
        for name in [*_CONTROLS.values(), *_ESCAPES.values(), *(n for n, _ in _CSI.values())]:
            self._methods[name] = getattr(screen, name)

    @property
    def at_ground(self) -> bool:
        """Whether the next byte starts something new."""
        return not self._held and not self._in_string and not self._decoder.getstate()[0]

    def feed(self, data: bytes) -> None:
        """The next bytes of the stream."""
        text = self._held + self._decoder.decode(data)
        self._held = ""
        at = self._end_of_string(text, 0) if self._in_string else 0
        read, size, draw, known = _TOKEN.match, len(text), self._screen.draw, self._known
        while at < size:
            token = read(text, at)
            assert token is not None  # the last branch takes any character
            at = token.end()
            kind = token.lastgroup
            if kind == "text":
                draw(token[0])
            elif kind == "newline":
                self._screen.cursor.x = 0
                self._screen.linefeed()
            elif kind == "final":
                act, numbers = known.get(token[0]) or self._learn(token)
                act(*numbers)
            elif kind != "dropped":
                at = self._take(kind, token, text)

    def _take(self, kind: str | None, token: re.Match[str], text: str) -> int:
        """Does what one of the rarer tokens says; returns where the next one starts."""
        match kind:
            case "control":
                if token[0] != "\x07":
                    self._methods[_CONTROLS[token[0]]]()
            case "osc_end":
                number, _, words = token["osc"].partition(";")
                if number in ("0", "2") and token["osc_end"] in ("\x07", "\x1b\\"):
                    self._screen.title = words[:_TITLE_LIMIT]
                return token.end() - (token["osc_end"] == "\x1b")
            case "string":
                self._in_string = True
                return self._end_of_string(text, token.end())
            case "set":
                self._designate(token["designate"], token["set"])
            case "escape":
                if token["escape"] in _ESCAPES:
                    self._methods[_ESCAPES[token["escape"]]]()
            case "unfinished":
                self._held = token[0] if len(token[0]) <= _HELD_LIMIT else ""
        return token.end()

    def _learn(self, token: re.Match[str]) -> tuple[Callable[..., None], list[int]]:
        """What a control sequence does; programs repeat the same ones."""
        plan = self._csi(*token.group("prefix", "numbers", "middle", "final"))
        if len(self._known) >= _KNOWN_LIMIT:
            self._known.clear()
        self._known[token[0]] = plan
        return plan

    def _end_of_string(self, text: str, at: int) -> int:
        while True:
            stop = _STRING_STOP.search(text, at)
            if stop is None:
                return len(text)
            at = stop.end()
            if stop[0] == "\x1b" and at == len(text):
                self._held = "\x1b"
                return at
            if stop[0] == "\x1b" and text[at] != "\\":
                at += text[at] == "\x1b"
                continue
            self._in_string = False
            return at + (stop[0] == "\x1b")

    def _csi(
        self, prefix: str, numbers: str, middle: str, final: str
    ) -> tuple[Callable[..., None], list[int]]:
        """The method for a control sequence, and its arguments."""
        screen = self._screen
        if middle:
            return (screen.soft_reset if middle + final == "!p" else _nothing), []
        if final == "m":
            return (screen.select_graphic_rendition, _colours(numbers)) if not prefix else _NOTHING
        values = [_number(n) for n in numbers.split(";")]
        if final in "hl" and prefix in ("", "?"):
            return partial(screen.set_modes, values, final == "h", prefix == "?"), []
        if prefix or final not in _CSI:
            return _NOTHING
        name, count = _CSI[final]
        return self._methods[name], values[:count]

    def _designate(self, which: str, charset: str) -> None:
        if which == "(":
            self._screen.line_drawing = charset == "0"
        elif which == "#" and charset == "8":
            self._screen.alignment_display()


def _nothing() -> None:
    """A sequence that the screen has no use for."""


_NOTHING: Final[tuple[Callable[..., None], list[int]]] = (_nothing, [])


def _number(text: str) -> int:
    """A parameter, 0 for none. `int` refuses thousands of digits, which anybody can print."""
    digits = text.lstrip("0")
    return min(int(digits[:_DIGITS]), _MOST) if digits.isdigit() else 0


def _colours(numbers: str) -> list[int]:
    """SGR parameters in the old form: colon forms turned into it, underline colours left out."""
    if ":" not in numbers and "58" not in numbers:
        return [_number(n) for n in numbers.split(";")]
    found: list[int] = []
    fields = numbers.split(";")
    while fields:
        first, *rest = [_number(n) for n in fields.pop(0).split(":")]
        if first == 58:
            skipped = {"2": 4, "5": 2}.get(fields[0], 0) if fields and not rest else 0
            del fields[:skipped]
        elif first == 4 and rest:
            found.append(4 if rest[0] else 24)
        elif first in (38, 48) and len(rest) >= 2:
            found += [first, rest[0], *(rest[-3:] if rest[0] == 2 else rest[1:2])]
        else:
            found.append(first)
    return found
