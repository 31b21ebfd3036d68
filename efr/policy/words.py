"""One word of a command line, read strictly: its text without quotes, or what makes it unreadable.

Pure. An allow-list of characters: only what means the same to every zsh, whatever its options, is
read; the rest is one named construct. Tried against zsh 5.9 (the tests run it).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

BREAKS: Final = frozenset(" \t\n;&|<>")
_PLAIN: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+@%="
)
_GLOB: Final = frozenset("*?[]")  # a pattern with every set of options
_MAYBE_GLOB: Final = frozenset("~^#")  # a pattern with EXTENDED_GLOB
_GROUPS: Final = frozenset("(){}")
_ESCAPED_IN_DOUBLE: Final = frozenset('$`"\\')
_WHOLE: Final = re.compile(r"[A-Za-z0-9_./:,+@%-]+(?=[ \t\n;&|<>]|\Z)")  # the usual word
_RUN: Final = re.compile(r"[A-Za-z0-9_./:,+@%-]+")
_DOUBLE_RUN: Final = re.compile(r"[^\"\\$`!\x00-\x1f\x7f-\x9f]+")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_CONTROL_BUT_LINES: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ASSIGNED_NAME: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")

# What a construct is called in a reason. `{}` is its detail.
CONSTRUCTS: Final = {
    "command_substitution": "output of another command",
    "process_substitution": "a command used as a file",
    "expansion": "a `$` value",
    "history_expansion": "a history reference",
    "grouping": "parentheses or braces",
    "glob": "a leading file pattern",
    "here_document": "text after `<<`",
    "redirection": "output to a file",
    "background": "a job in the background",
    "assignment": "an assignment",
    "builtin": "the shell builtin {}",
    "unfinished": "an open quote or line end",
    "character": "{} in a place where zsh may read it specially",
    "syntax": "an operator with nothing beside it",
    "empty": "nothing to run",
    "length": "more than 64 KiB",
    "parts": "more than 50 commands",
    "words": "more than 2000 words",
    "disagreement": "a form that can be taken apart in two ways",
    "reserved": "the shell word {}",
    "compound": "a loop, a condition or a function",
}


@dataclass(frozen=True)
class Word:
    """One word with its quotes removed. `pattern`: it holds an unquoted pattern character."""

    text: str
    pattern: bool = False
    quoted: bool = False
    assigns: bool = False  # NAME=… or NAME+=… with nothing quoted before the sign
    start: int = field(default=0, compare=False)  # where it stands in the line
    end: int = field(default=0, compare=False)


class Unreadable(Struct, frozen=True):
    """Why a line cannot be read: the name of a construct, and what is in its place."""

    construct: str
    detail: str = ""

    @property
    def words(self) -> str:
        """For a reason."""
        return CONSTRUCTS[self.construct].format(self.detail)


class Stop(Exception):
    """The reading ends here."""

    def __init__(self, construct: str, detail: str = "") -> None:
        super().__init__(construct)
        self.unreadable = Unreadable(construct, detail)


class WordReader(Struct):
    """A position in a text; `word` reads the word that starts there."""

    text: str
    at: int = 0

    def has(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def next(self) -> str:
        """The sign behind the current one, or ""."""
        return self.text[self.at + 1 : self.at + 2]

    def word(self) -> Word:
        """The word up to a break. Raises Stop."""
        start = self.at
        whole = _WHOLE.match(self.text, start)
        if whole is not None:
            self.at = whole.end()
            return Word(whole[0], start=start, end=self.at)
        word = _WordText()
        while self.at < len(self.text) and self.text[self.at] not in BREAKS:
            sign = self.text[self.at]
            if sign == "'":
                self._single(word)
            elif sign == '"':
                self._double(word)
            elif sign == "\\":
                self._escape(word)
            else:
                self._bare(word, sign, self.at == start)
        text = "".join(word.parts)
        name = _ASSIGNED_NAME.match(text)
        assigns = name is not None and word.equals == name.end() - 1
        return Word(text, word.pattern, word.quoted, assigns, start, self.at)

    def _single(self, word: _WordText) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Stop("unfinished")
        inner = self.text[self.at + 1 : end]
        control = _CONTROL_BUT_LINES.search(inner)
        if control is not None:
            raise Stop("character", _name(control[0]))
        word.add_quoted(inner)
        self.at = end + 1

    def _double(self, word: _WordText) -> None:
        self.at += 1
        inner: list[str] = []
        while not self.has('"'):
            if self.at >= len(self.text):
                raise Stop("unfinished")
            inner.append(self._in_double())
        self.at += 1
        word.add_quoted("".join(inner))

    def _in_double(self) -> str:
        run = _DOUBLE_RUN.match(self.text, self.at)
        if run is not None:
            self.at = run.end()
            return run[0]
        sign = self.text[self.at]
        if sign == "`" or self.has("$("):
            raise Stop("command_substitution")
        if sign == "$":
            raise Stop("expansion")
        if sign == "!":
            raise Stop("history_expansion")
        if _CONTROL.match(sign):
            raise Stop("character", _name(sign))
        if sign == "\\" and self.next() in _ESCAPED_IN_DOUBLE:
            self.at += 1
        self.at += 1
        return self.text[self.at - 1]

    def _escape(self, word: _WordText) -> None:
        sign = self.next()
        if sign in ("", "\n"):
            raise Stop("unfinished")
        if _CONTROL.match(sign):
            raise Stop("character", _name(sign))
        word.add_quoted(sign)
        self.at += 2

    def _bare(self, word: _WordText, sign: str, is_first: bool) -> None:
        """Signs without quotes: a plain run, or one sign."""
        run = _RUN.match(self.text, self.at)
        if run is not None:
            word.add(run[0])
            self.at = run.end()
            return
        if sign == "`" or self.has("$("):
            raise Stop("command_substitution")
        if sign == "$":
            raise Stop("expansion")
        if sign == "!":
            raise Stop("history_expansion")
        if is_first and self.has("=("):
            raise Stop("process_substitution")
        if sign in _GROUPS:
            raise Stop("grouping")
        if sign in _GLOB or sign in _MAYBE_GLOB:
            self._pattern(word, sign, is_first)
        elif sign not in _PLAIN or (sign == "=" and not word.size):
            raise Stop("character", _name(sign))
        if sign == "=" and word.equals is None and not word.quoted:
            word.equals = word.size
        word.add(sign)
        self.at += 1

    def _pattern(self, word: _WordText, sign: str, is_first: bool) -> None:
        if is_first and sign == "~" and self.next() in ("", "/", *BREAKS):
            return  # home
        if sign in _MAYBE_GLOB and not word.size:
            raise Stop("character", _name(sign))
        if not word.size or word.parts[0].startswith("-"):
            raise Stop("glob")
        word.pattern = True


class _WordText(Struct):
    """A word being read."""

    parts: list[str] = []
    size: int = 0
    pattern: bool = False
    quoted: bool = False
    equals: int | None = None  # where the first `=` stands when nothing before it is quoted

    def add(self, text: str) -> None:
        if text:
            self.parts.append(text)
            self.size += len(text)

    def add_quoted(self, text: str) -> None:
        self.quoted = True
        self.add(text)


def _name(sign: str) -> str:
    """How a reason shows the sign."""
    return sign if sign.isprintable() else f"U+{ord(sign):04X}"
