"""Words and commands of the lenient split, also while they are read.

Pure. What a word is made of is decided in `efr.policy.lines.split`; the names that its braces stand
for come from `efr.policy.lines.braces`.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct, field

from efr.policy.lines.braces import Brace, Part, TooManyNames, names_of

MOST_NAMES: Final = 500  # that the braces of a line stand for; no person reads more
ASSIGNMENT: Final = re.compile(r"[^\W\d]\w*\+?=")  # zsh takes letters of any script
# Behind these a brace may begin a group though words stand before it.
_SHELL_WORDS: Final = frozenset((
    "if", "then", "elif", "else", "while", "until", "do", "for", "foreach", "select", "case",
    "repeat", "function", "[[", "!", "time", "coproc", "noglob", "nocorrect", "always", "-",
))  # fmt: skip


class LineWord(Struct, frozen=True):
    """A word without its quotes; `~` and `$HOME` at its start are the home."""

    text: str
    expansion: bool = False  # it holds a value that the line does not show
    pattern_at: int | None = None  # where in the text an unquoted pattern starts

    def tail(self, start: int) -> LineWord:
        """The rest of the word, its pattern moved along."""
        at = None if self.pattern_at is None else max(self.pattern_at - start, 0)
        return LineWord(self.text[start:], self.expansion, at)

    def joined(self, other: LineWord) -> LineWord:
        """Both as one word."""
        at = self.pattern_at
        if at is None and other.pattern_at is not None:
            at = len(self.text) + other.pattern_at
        return LineWord(self.text + other.text, self.expansion or other.expansion, at)


class LineCommand(Struct, frozen=True):
    """One command that may run, and the files of its redirections."""

    words: tuple[LineWord, ...]
    reads: tuple[LineWord, ...] = ()
    writes: tuple[LineWord, ...] = ()
    truncates: tuple[LineWord, ...] = ()  # those of the writes that empty the file first

    def after_assignments(self) -> tuple[LineWord, ...]:
        """The words from the program on."""
        at = 0
        while at < len(self.words) and ASSIGNMENT.match(self.words[at].text):
            at += 1
        return self.words[at:]


class OpenWord(Struct):
    """A word being read."""

    parts: list[Part] = field(default_factory=list)
    size: int = 0
    expansion: bool = False
    pattern_at: int | None = None
    depth: int = 0  # open braces
    has_braces: bool = False

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)

    def add_brace(self, sign: Brace) -> None:
        self.parts.append(sign)
        self.size += 1
        self.depth = max(self.depth + (sign is Brace.OPEN) - (sign is Brace.CLOSE), 0)
        self.has_braces = True

    @property
    def is_new(self) -> bool:
        """Whether the next sign begins one of the names that the word stands for."""
        first, last = self.parts[:1], self.parts[-1:]
        return first == [Brace.OPEN] and last in ([Brace.OPEN], [Brace.COMMA])

    def done(self) -> list[LineWord]:
        """The word, or those that its braces stand for. Raises TooManyNames."""
        if not self.has_braces:
            text = "".join(str(part) for part in self.parts)
            return [LineWord(text, self.expansion, self.pattern_at)]
        may_match = self.pattern_at is not None
        return [
            LineWord(name.text, self.expansion, name.pattern_at(may_match))
            for name in names_of(self.parts)
        ]


class OpenCommand(Struct):
    """A command being read; `target` is where the next word goes."""

    words: list[LineWord] = field(default_factory=list)
    kept: list[list[LineWord]] = field(default_factory=list)  # of commands that may go on
    names: int = 0  # that braces stand for
    cut: bool = False  # they are too many
    reads: list[LineWord] = field(default_factory=list)
    writes: list[LineWord] = field(default_factory=list)
    truncates: list[LineWord] = field(default_factory=list)
    target: Literal["words", "reads", "writes", "truncates", "nothing"] = "words"
    word: OpenWord | None = None

    def end_word(self) -> None:
        if self.word is None:
            return
        try:
            words = self.word.done()
        except TooManyNames:
            words, self.cut = [], True
        if self.word.has_braces:
            self.names += len(words)
            self.cut = self.cut or self.names > MOST_NAMES
        target, self.word, self.target = self.target, None, "words"
        if target == "words":
            for each in (self.words, *self.kept):
                each.extend(words)
        elif target == "reads":
            self.reads += words
        elif target != "nothing":
            words = [word for word in words if word.text != "/dev/null"]
            self.writes += words
            self.truncates += words if target == "truncates" else []

    def may_begin_group(self) -> bool:
        """Whether a brace behind the words may be a group's."""
        texts = [word.text for word in self.words]
        is_list = texts[:1] in (["for"], ["foreach"], ["select"]) and "in" in texts
        only_assigns = bool(texts) and all(map(ASSIGNMENT.match, texts))
        return not is_list and (only_assigns or not _SHELL_WORDS.isdisjoint(texts))

    def kept_over(self, sign: LineWord, *, touches: bool) -> list[list[LineWord]]:
        """The words of every command that goes on when the sign ends none.

        `touches`: the sign belongs to the last word.
        """
        own = [list(self.words)] if self.words else []
        for words in (*self.kept, *own):
            words.append(words.pop().joined(sign) if touches and words else sign)
        return [*self.kept, *own]

    def done(self) -> LineCommand:
        self.end_word()
        return LineCommand(
            tuple(self.words), tuple(self.reads), tuple(self.writes), tuple(self.truncates)
        )
