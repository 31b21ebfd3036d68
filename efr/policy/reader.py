"""The strict reader of a command line: zsh text to simple commands, or what makes it unreadable.

Pure. Only what means the same to every zsh, whatever its options, is read; an unreadable line is
asked about, never refused for that. Tried against zsh 5.9 (the tests run it). Words are read in
`efr.policy.words`, what an unreadable line is made of in `efr.policy.structure`, the lenient split
that looks for paths is `efr.policy.lines`; what a command may do is in `efr.policy.rows`.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from efr.policy.words import BREAKS, CONSTRUCTS, Stop, Unreadable, Word, WordReader

__all__ = ["CONSTRUCTS", "SimpleCommand", "Unreadable", "Word", "read_line"]

LONGEST_LINE: Final = 64 * 1024  # bytes; more is no line a person could judge
MOST_COMMANDS: Final = 50  # likewise
MOST_WORDS: Final = 2000  # likewise, and what is read in some milliseconds

_BLANKS: Final = " \t"
_NUMERIC_GLOB: Final = re.compile(r"<[0-9]*-[0-9]*>")
_COPY: Final = re.compile(r"[<>]&[0-9]+(?=[ \t\n;&|<>]|\Z)")
_TO_FILE: Final = re.compile(r"&>>?\|?|>>?\||>&|>>?")
_FORBIDDEN_REDIRECTION: Final = re.compile(r"<>|>>?!|>&-|>&p|<&|>\(|<\(|<<")

HARMLESS_ASSIGNMENTS: Final = re.compile(r"LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|TERM|CLICOLOR")
# A name with `/` would be a file: of messages, of a time zone, of a terminal.
_PLAIN_VALUE: Final = re.compile(r"(?!.*\.\.)[^/~]*", re.DOTALL)
_ZONE: Final = re.compile(r"(?!:?/)(?!.*\.\.)[^~]*", re.DOTALL)  # `Europe/Berlin` lies in a folder
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

# Words of zsh that stand where a program would; `time` and the modifiers run what follows.
RESERVED: Final = frozenset((
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "repeat", "select", "foreach", "end", "function", "time", "coproc", "nocorrect", "{", "}",
    "[[", "!", "declare", "export", "float", "integer", "local", "readonly", "typeset",
))  # fmt: skip


class SimpleCommand(Struct, frozen=True):
    """A program and its words, after harmless assignments."""

    words: tuple[Word, ...]

    @property
    def program(self) -> str:
        return self.words[0].text


def read_line(line: str) -> tuple[SimpleCommand, ...] | Unreadable:
    """The simple commands of a line in order, or the first thing that makes it unreadable."""
    if is_too_long(line):
        return Unreadable("length")
    reader = _Reader(line)
    try:
        reader.read()
    except Stop as stop:
        return stop.unreadable
    return tuple(reader.commands)


def is_too_long(line: str) -> bool:
    """Whether nobody could judge the line."""
    return len(line) > LONGEST_LINE or len(line.encode("utf-8", "surrogatepass")) > LONGEST_LINE


class _Reader(WordReader):
    """A line, and what was read up to the position."""

    commands: list[SimpleCommand] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    count: int = 0  # of all words
    redirected: bool = False  # the command being read has a redirection
    joined: bool = False  # `&&`, `||` or a pipe waits for its right side

    def read(self) -> None:
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign in _BLANKS:
                self.at += 1
            elif sign in "\n;":
                self._separator(sign)
            elif sign == "|" or (sign == "&" and not self.has("&>")):
                self._operator()
            elif sign in "<>&" or self._is_descriptor():
                self._redirection()
            else:
                self.words.append(self.word())
                self.count += 1
                if self.count > MOST_WORDS:
                    raise Stop("words")
        self._end_command()
        if self.joined:
            raise Stop("syntax")
        if not self.commands:
            raise Stop("empty")

    # -- between words

    def _separator(self, sign: str) -> None:
        if sign == ";" and (self.next() in tuple(";&|") or not self._is_inside()):
            raise Stop("syntax")
        self._end_command()  # nothing to end at a newline right behind an operator
        self.at += 1

    def _operator(self) -> None:
        size = 2 if self.text[self.at : self.at + 2] in ("&&", "||", "|&") else 1
        if size == 1 and self.text[self.at] == "&":
            raise Stop("background")
        if not self._is_inside():
            raise Stop("syntax")
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
            check_assignment(words.pop(0))
            if not words:
                raise Stop("assignment")
        if not words:  # redirections alone run $NULLCMD
            raise Stop("empty")
        if words[0].pattern:  # NULL_GLOB may take it away, and the next word is the program
            raise Stop("glob")
        if words[0].text in BUILTINS:
            raise Stop("builtin", words[0].text)
        self.commands.append(SimpleCommand(tuple(words)))
        if len(self.commands) > MOST_COMMANDS:
            raise Stop("parts")
        self.words, self.redirected, self.joined = [], False, False

    # -- redirections

    def _is_descriptor(self) -> bool:
        """One digit right before `<`, `>` or `&>`; more digits are a word to zsh."""
        if self.text[self.at] not in "0123456789":
            return False
        return self.next() in ("<", ">") or self.text.startswith("&>", self.at + 1)

    def _redirection(self) -> None:
        if self.text[self.at] not in "<>&":
            self.at += 1
        if _NUMERIC_GLOB.match(self.text, self.at):
            raise Stop("glob")
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
            raise Stop("redirection")

    def _refuse_special(self) -> None:
        special = _FORBIDDEN_REDIRECTION.match(self.text, self.at)
        if special is None:
            return
        names = {"<(": "process_substitution", ">(": "process_substitution", "<<": "here_document"}
        raise Stop(names.get(special[0], "redirection"))

    def _target(self) -> Word:
        while self.text[self.at : self.at + 1] in tuple(_BLANKS):
            self.at += 1
        if self.at >= len(self.text) or self.text[self.at] in BREAKS:
            raise Stop("syntax")
        return self.word()


def check_assignment(word: Word) -> None:
    """Raises Stop for one that may change what a command does."""
    name, _, value = word.text.partition("=")
    name = name.removesuffix("+")
    if name in COUNTED_ASSIGNMENTS and _SMALL_NUMBER.fullmatch(value):
        return
    plain = _ZONE if name == "TZ" else _PLAIN_VALUE
    if not HARMLESS_ASSIGNMENTS.fullmatch(name) or not plain.fullmatch(value):
        raise Stop("assignment")
