"""The input row of a running turn: a small editor, and its rows.

Pure. At most five rows show, those around the cursor; the text holds 256 KiB at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from efr.cli.render.spans import ACCENT, MUTED, Line, Span, cut_line
from efr.cli.render.width import before, cells, characters
from efr.cli.view.keys import Key
from efr.cli.view.screen import Cursor
from efr.text.visible import visible_text

LIMIT = 256 * 1024  # bytes: more is a file, not a line
ROWS = 5  # the reply keeps the rest of a small terminal
HINT = "Enter steers, Tab queues, Esc stops"
_LONGEST = 64  # code points of one character that is moved over; a pile of marks has more
_MARK = "› "
_HABIT = re.compile(r"\A,!?[ \t]+(?=\S)")


def prompt_of(text: str) -> str:
    """The text to send: without the `, ` or `,! ` of a shell line, which a hand types by habit."""
    return _HABIT.sub("", text)


class InputRow:
    """The text and where the cursor is in it."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.cursor = len(text)

    def set(self, text: str) -> None:
        """Replaces the text; the cursor goes to its end."""
        self.text, self.cursor = text, len(text)

    def add_line(self, text: str) -> None:
        """Puts a text on a line of its own behind what is there."""
        self.set(f"{self.text}\n{text}" if self.text else text)

    def edit(self, key: Key) -> bool:
        """Takes an editing key; False for one that does not edit."""
        if key.name in {"text", "paste"}:
            self._insert(visible_text(key.text))
        elif key.name == "newline":
            self._insert("\n")
        elif key.name in _MOVES:
            self.cursor = _MOVES[key.name](self.text, self.cursor)
        elif key.name in _KILLS:
            other = _KILLS[key.name](self.text, self.cursor)
            start, end = min(other, self.cursor), max(other, self.cursor)
            self.text, self.cursor = self.text[:start] + self.text[end:], start
        else:
            return False
        return True

    def _insert(self, text: str) -> None:
        if len(self.text.encode()) + len(text.encode()) <= LIMIT:
            self.text = self.text[: self.cursor] + text + self.text[self.cursor :]
            self.cursor += len(text)

    def rows(self, columns: int, hint: str = HINT) -> tuple[list[Line], Cursor]:
        """The rows to show, and the cursor in them."""
        room = max(columns - len(_MARK) - 1, 1)  # one column for the cursor behind a full row
        if not self.text:
            line: Line = (Span(_MARK, ACCENT), Span(" "), Span(hint, MUTED))
            return [cut_line(line, columns)], Cursor(0, min(len(_MARK), columns - 1))
        pieces, place = self._pieces(room)
        first = min(max(place.row - ROWS + 1, 0), max(len(pieces) - ROWS, 0))
        shown = pieces[first : first + ROWS]
        rows: list[Line] = [
            (Span(_MARK if first + index == 0 else "  ", ACCENT), Span(text))
            for index, text in enumerate(shown)
        ]
        return rows, Cursor(place.row - first, min(len(_MARK) + place.column, columns - 1))

    def _pieces(self, room: int) -> tuple[list[str], Cursor]:
        """The text as rows of `room` columns, and the cursor in them."""
        pieces, current, used = [], "", 0
        place = Cursor(0, 0)
        at = 0
        for char in _units(self.text, room):
            size = 0 if char == "\n" else cells(char)
            if used + size > room:
                pieces.append(current)
                current, used = "", 0
            if at <= self.cursor < at + len(char):
                place = Cursor(len(pieces), used)
            at += len(char)
            if char == "\n":
                pieces.append(current)
                current, used = "", 0
            else:
                current, used = current + char, used + size
        if self.cursor == len(self.text):
            place = Cursor(len(pieces), used)
        return [*pieces, current], place


def _units(text: str, room: int) -> Iterator[str]:
    """What a row may end between: characters, or parts of one that is wider than a row."""
    for character in characters(text):
        if len(character) > 1 and cells(character) > room:
            yield from character
        else:
            yield character


def _left(text: str, at: int) -> int:
    """One character back, as a person sees it."""
    return before(text, at)


def _right(text: str, at: int) -> int:
    if at + 1 >= len(text) or text[at + 1].isascii():
        return min(at + 1, len(text))
    return at + len(next(characters(text[at : at + _LONGEST])))


def _home(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _word_left(text: str, at: int) -> int:
    while at > 0 and not text[at - 1].isalnum():
        at -= 1
    while at > 0 and text[at - 1].isalnum():
        at -= 1
    return at


def _word_right(text: str, at: int) -> int:
    while at < len(text) and not text[at].isalnum():
        at += 1
    while at < len(text) and text[at].isalnum():
        at += 1
    return at


def _blank_left(text: str, at: int) -> int:
    while at > 0 and text[at - 1].isspace():
        at -= 1
    while at > 0 and not text[at - 1].isspace():
        at -= 1
    return at


_MOVES = {
    "left": _left,
    "right": _right,
    "home": _home,
    "end": _end,
    "word_left": _word_left,
    "word_right": _word_right,
}
_KILLS = {
    "backspace": _left,
    "delete": _right,
    "kill_to_start": _home,
    "kill_to_end": _end,
    "kill_to_blank": _blank_left,
    "kill_word": _word_left,
}
