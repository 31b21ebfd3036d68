"""The strict reader of a command line: zsh text to simple commands, or what makes it unreadable.

Pure. An allow-list of characters: only what means the same to every zsh, whatever its options, is
read; the rest is one named construct, and an unreadable line is asked about, never refused for
that. Tried against zsh 5.9 (the tests run it). The lenient split that looks for paths is in
`efr.policy.lines`; what a command may do is in `efr.policy.rows`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

LONGEST_LINE: Final = 64 * 1024  # bytes; more is no line a person could judge
MOST_COMMANDS: Final = 50  # likewise

_BLANKS: Final = " \t"
_BREAKS: Final = frozenset(" \t\n;&|<>")
_PLAIN: Final = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+@%="
)
_GLOB: Final = frozenset("*?[]")  # a pattern with every set of options
_MAYBE_GLOB: Final = frozenset("~^#")  # a pattern with EXTENDED_GLOB
_GROUPS: Final = frozenset("(){}")
_ESCAPED_IN_DOUBLE: Final = frozenset('$`"\\')
_NUMERIC_GLOB: Final = re.compile(r"<[0-9]*-[0-9]*>")
_COPY: Final = re.compile(r"[<>]&[0-9]+(?=[ \t\n;&|<>]|\Z)")
_TO_FILE: Final = re.compile(r"&>>?\|?|>>?\||>&|>>?")
_FORBIDDEN_REDIRECTION: Final = re.compile(r"<>|>>?!|>&-|>&p|<&|>\(|<\(|<<")
_ASSIGNED_NAME: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")

HARMLESS_ASSIGNMENTS: Final = re.compile(r"LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|TERM|CLICOLOR")
COUNTED_ASSIGNMENTS: Final = frozenset(("COLUMNS", "LINES"))  # zsh evaluates their value
_SMALL_NUMBER: Final = re.compile(r"[0-9]{1,5}")

# Words that change the shell or run text. Reserved words need no entry: no row names them.
BUILTINS: Final = frozenset((
    "eval", "exec", "source", ".", "alias", "unalias", "builtin", "fc", "r", "trap", "functions",
    "unfunction", "autoload", "enable", "disable", "zmodload", "emulate", "setopt", "unsetopt",
    "set", "unset", "export", "typeset", "declare", "local", "readonly", "integer", "float",
    "hash", "unhash", "rehash", "coproc", "noglob", "nocorrect", "bindkey", "zle", "zstyle",
    "compdef", "-",
))  # fmt: skip

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
}


@dataclass(frozen=True)
class Word:
    """One word with its quotes removed. `pattern`: it holds an unquoted pattern character."""

    text: str
    pattern: bool = False
    quoted: bool = False
    assigns: bool = False  # NAME=… or NAME+=… with nothing quoted before the sign


@dataclass(frozen=True)
class SimpleCommand:
    """A program and its words, after harmless assignments."""

    words: tuple[Word, ...]

    @property
    def program(self) -> str:
        return self.words[0].text


@dataclass(frozen=True)
class Unreadable:
    """Why a line cannot be read: the name of a construct, and what is in its place."""

    construct: str
    detail: str = ""

    @property
    def words(self) -> str:
        """For a reason."""
        return CONSTRUCTS[self.construct].format(self.detail)


def read_line(line: str) -> tuple[SimpleCommand, ...] | Unreadable:
    """The simple commands of a line in order, or the first thing that makes it unreadable."""
    if len(line.encode("utf-8", "surrogatepass")) > LONGEST_LINE:
        return Unreadable("length")
    reader = _Reader(line)
    try:
        reader.read()
    except _Stop as stop:
        return stop.unreadable
    return tuple(reader.commands)


class _Stop(Exception):
    """The reading ends here."""

    def __init__(self, construct: str, detail: str = "") -> None:
        super().__init__(construct)
        self.unreadable = Unreadable(construct, detail)


@dataclass
class _Reader:
    """A position in the text, and what was read up to it."""

    text: str
    at: int = 0
    commands: list[SimpleCommand] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    redirected: bool = False  # the command being read has a redirection
    joined: bool = False  # `&&`, `||` or a pipe waits for its right side

    def read(self) -> None:
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign in _BLANKS:
                self.at += 1
            elif sign in "\n;":
                self._separator(sign)
            elif sign == "|" or (sign == "&" and not self._has("&>")):
                self._operator()
            elif sign in "<>&" or self._is_descriptor():
                self._redirection()
            else:
                self.words.append(self._word())
        self._end_command()
        if self.joined:
            raise _Stop("syntax")
        if not self.commands:
            raise _Stop("empty")

    def _has(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def _next(self) -> str:
        """The sign behind the current one, or ""."""
        return self.text[self.at + 1 : self.at + 2]

    # -- between words

    def _separator(self, sign: str) -> None:
        if sign == ";" and (self._next() in tuple(";&|") or not self._is_inside()):
            raise _Stop("syntax")
        self._end_command()  # nothing to end at a newline right behind an operator
        self.at += 1

    def _operator(self) -> None:
        size = 2 if self.text[self.at : self.at + 2] in ("&&", "||", "|&") else 1
        if size == 1 and self.text[self.at] == "&":
            raise _Stop("background")
        if not self._is_inside():
            raise _Stop("syntax")
        self._end_command()
        self.joined = True
        self.at += size

    def _is_inside(self) -> bool:
        return bool(self.words) or self.redirected

    def _end_command(self) -> None:
        """Closes the simple command; nothing read since the last one is no command."""
        if not self._is_inside():
            return
        words = self.words
        while words and words[0].assigns:
            _check_assignment(words.pop(0))
            if not words:
                raise _Stop("assignment")
        if not words:  # redirections alone run $NULLCMD
            raise _Stop("empty")
        if words[0].text in BUILTINS:
            raise _Stop("builtin", words[0].text)
        self.commands.append(SimpleCommand(tuple(words)))
        if len(self.commands) > MOST_COMMANDS:
            raise _Stop("parts")
        self.words, self.redirected, self.joined = [], False, False

    # -- redirections

    def _is_descriptor(self) -> bool:
        """One digit right before `<` or `>`; more digits are a word to zsh."""
        return self.text[self.at] in "0123456789" and self._next() in ("<", ">")

    def _redirection(self) -> None:
        if self.text[self.at] not in "<>&":
            self.at += 1
        if _NUMERIC_GLOB.match(self.text, self.at):
            raise _Stop("glob")
        self.redirected = True
        copy = _COPY.match(self.text, self.at)
        if copy:
            self.at = copy.end()
            return
        self._refuse_special()
        to_file = _TO_FILE.match(self.text, self.at)
        self.at = to_file.end() if to_file else self.at + 1
        target = self._target()
        if to_file and target.text != "/dev/null":
            raise _Stop("redirection")

    def _refuse_special(self) -> None:
        special = _FORBIDDEN_REDIRECTION.match(self.text, self.at)
        if special is None:
            return
        names = {"<(": "process_substitution", ">(": "process_substitution", "<<": "here_document"}
        raise _Stop(names.get(special[0], "redirection"))

    def _target(self) -> Word:
        while self.text[self.at : self.at + 1] in tuple(_BLANKS):
            self.at += 1
        if self.at >= len(self.text) or self.text[self.at] in _BREAKS:
            raise _Stop("syntax")
        return self._word()

    # -- words

    def _word(self) -> Word:
        start = self.at
        word = _WordText()
        while self.at < len(self.text) and self.text[self.at] not in _BREAKS:
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
        return Word(text, word.pattern, word.quoted, assigns)

    def _single(self, word: _WordText) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise _Stop("unfinished")
        inner = self.text[self.at + 1 : end]
        for sign in inner:
            if _is_control(sign) and sign not in "\t\n":
                raise _Stop("character", _name(sign))
        word.add_quoted(inner)
        self.at = end + 1

    def _double(self, word: _WordText) -> None:
        self.at += 1
        inner: list[str] = []
        while not self._has('"'):
            if self.at >= len(self.text):
                raise _Stop("unfinished")
            inner.append(self._in_double(self.text[self.at]))
        self.at += 1
        word.add_quoted("".join(inner))

    def _in_double(self, sign: str) -> str:
        if sign == "`" or self._has("$("):
            raise _Stop("command_substitution")
        if sign == "$":
            raise _Stop("expansion")
        if sign == "!":
            raise _Stop("history_expansion")
        if _is_control(sign):
            raise _Stop("character", _name(sign))
        if sign == "\\" and self._next() in _ESCAPED_IN_DOUBLE:
            self.at += 1
        self.at += 1
        return self.text[self.at - 1]

    def _escape(self, word: _WordText) -> None:
        sign = self._next()
        if sign in ("", "\n"):
            raise _Stop("unfinished")
        if _is_control(sign):
            raise _Stop("character", _name(sign))
        word.add_quoted(sign)
        self.at += 2

    def _bare(self, word: _WordText, sign: str, is_first: bool) -> None:
        """One sign without quotes."""
        if sign == "`" or self._has("$("):
            raise _Stop("command_substitution")
        if sign == "$":
            raise _Stop("expansion")
        if sign == "!":
            raise _Stop("history_expansion")
        if is_first and self._has("=("):
            raise _Stop("process_substitution")
        if sign in _GROUPS:
            raise _Stop("grouping")
        if sign in _GLOB or sign in _MAYBE_GLOB:
            self._pattern(word, sign, is_first)
        elif sign not in _PLAIN or (sign == "=" and not word.parts):
            raise _Stop("character", _name(sign))
        if sign == "=" and word.equals is None and not word.quoted:
            word.equals = len(word.parts)
        word.parts.append(sign)
        self.at += 1

    def _pattern(self, word: _WordText, sign: str, is_first: bool) -> None:
        if is_first and sign == "~" and self._next() in ("", "/", *_BREAKS):
            return  # home
        if sign in _MAYBE_GLOB and not word.parts:
            raise _Stop("character", _name(sign))
        if not word.parts or word.parts[0].startswith("-"):
            raise _Stop("glob")
        word.pattern = True


@dataclass
class _WordText:
    """A word being read; while nothing is quoted, each part is one sign."""

    parts: list[str] = field(default_factory=list)
    pattern: bool = False
    quoted: bool = False
    equals: int | None = None  # where the first unquoted `=` stands

    def add_quoted(self, text: str) -> None:
        self.quoted = True
        if text:
            self.parts.append(text)


def _check_assignment(word: Word) -> None:
    name, _, value = word.text.partition("=")
    name = name.removesuffix("+")
    if name in COUNTED_ASSIGNMENTS and _SMALL_NUMBER.fullmatch(value):
        return
    if not HARMLESS_ASSIGNMENTS.fullmatch(name):
        raise _Stop("assignment")


def _is_control(sign: str) -> bool:
    return sign < " " or "\x7f" <= sign <= "\x9f"


def _name(sign: str) -> str:
    """How a reason shows the sign."""
    return sign if sign.isprintable() else f"U+{ord(sign):04X}"
