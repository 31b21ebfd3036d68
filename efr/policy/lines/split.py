"""The lenient split of a command line: words and redirections of every command that may run.

Pure and total: any text gives something. Where zsh's own reading is unsure it splits once too
often, so that what looks for paths or programs finds one too many and never one too few; a text of
more pieces than a person could judge is cut, and says so. The strict reading that a decision rests
on is `efr.policy.reader`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from efr.policy.lines.braces import Brace
from efr.policy.lines.pieces import MOST_NAMES, LineCommand, LineWord, OpenCommand, OpenWord

__all__ = ["LineCommand", "LineWord", "Split", "split_line"]

_DEEPEST: Final = 200  # openings inside openings; no person nests that far
_MOST_READINGS: Final = 6  # of texts inside others; each may go to the end of the line
MOST_STEPS: Final = 3000  # parts of words, blanks, operators: what is split in some milliseconds

_BREAKS: Final = frozenset(" \t\n;&|<>(){}`")
_ENDS: Final = frozenset("\n;&|")  # of a command, wherever they stand outside quotes
_BEFORE_BRACE: Final = frozenset(" \t\n;&|<>()`")  # what a brace of a group may stand beside
_PATTERN_GROUP: Final = LineWord("", pattern_at=0)  # `(a|b)` in a word, or a group
_MOST_KEPT: Final = 8  # commands that may go on behind a brace; real lines have one or two
_PATTERN: Final = frozenset("*?[~^#")
_HOME: Final = re.compile(
    r"~(?=[/ \t\n;&|<>(){}`]|\Z)|\$(?:HOME\b|\{HOME\})(?=[/ \t\n\"';&|<>(){}`]|\Z)"
)
_HOME_IN_DOUBLE: Final = re.compile(r"\$(?:HOME\b|\{HOME\})(?=[/\"]|\Z)")
_NUMERIC_GLOB: Final = re.compile(r"<[0-9]*-[0-9]*>")
_COPY: Final = re.compile(r"[<>]&(?:[0-9]+|-|p)(?=[ \t\n;&|<>()}`]|\Z)")
# Text that means itself, taken at once: a line may hold a whole file as a here-document.
_PLAIN_RUN: Final = re.compile(r"[^ \t\n;&|<>(){}`'\"\\$*?\[~^#!]+")
_PATTERN_RUN: Final = re.compile(r"[*?\[^#]+")
_ESCAPED_RUN: Final = re.compile(r"(?:\\[^\n])+")
_DOUBLE_RUN: Final = re.compile(r"[^\"\\`$!]+")
_HERE: Final = re.compile(r"<<<|<<-?")
# A here-document whose end is a plain word, quoted or not.
_HERE_PLAIN: Final = re.compile(
    r"<<(?P<tabs>-?)[ \t]*(?P<quote>['\"]?)(?P<end>[A-Za-z0-9_]+)(?P=quote)(?=[ \t\n;&|<>]|\Z)"
)
_WRITES: Final = re.compile(r"&>>?[|!]?|>>?[|!]|>>?&[|!]?|<>|>>?")
_ANSI: Final = re.compile(r"\$'(?:\\.|[^'\\])*(?:'|\Z)", re.DOTALL)

Frame = Literal[
    "document", "substitution", "group", "tick", "double", "parameter", "double_parameter"
]
_OWN_COMMANDS: Final = frozenset(("substitution", "group", "tick"))
_PARENTHESES: Final = frozenset(("substitution", "group"))
_PARAMETERS: Final = frozenset(("parameter", "double_parameter"))


class Split(Struct, frozen=True):
    """`opaque`: the line holds something whose result it does not show. `cut`: it is too long."""

    commands: tuple[LineCommand, ...]
    opaque: bool
    cut: bool = False


@lru_cache(maxsize=16)  # one call is looked at for paths, for hints and for exits
def split_line(line: str, home: str) -> Split:
    """Every command in the order of the text, also those inside substitutions."""
    splitter = _Splitter(line, home)
    splitter.run()
    return Split(tuple(splitter.commands), splitter.opaque, splitter.cut)


class _Splitter:
    """A position, the command being read, and what encloses it."""

    def __init__(
        self, text: str, home: str, *, is_document: bool = False, readings: int = 0
    ) -> None:
        """`is_document`: a text in which quotes mean themselves, as in a here-document.

        `readings`: how many texts inside others, or behind them, were read a second time.
        """
        self._text = text
        self._readings = readings
        self._is_document = is_document
        self._home = home
        self._at = 0
        self._command = OpenCommand()
        # Each with the command outside of it.
        self._frames: list[tuple[Frame, OpenCommand]] = []
        if is_document:
            self._frames.append(("document", OpenCommand()))
        self._open_ticks = 0
        self._open_parentheses = 0
        # Documents whose text starts on the next line; None: where it ends cannot be told.
        self._here: list[re.Match[str] | None] = []
        self._may_skip = "\\\n" not in text  # a joined line may end a document or not
        self._names = 0  # that braces stand for
        self.commands: list[LineCommand] = []
        self.opaque = False
        self.cut = False

    def run(self) -> None:
        for _ in range(MOST_STEPS):
            is_deep = len(self._frames) > _DEEPEST
            if self._at >= len(self._text) or is_deep or self.cut or self._command.cut:
                break
            if self._inside in ("double", "document"):
                self._in_double()
            else:
                self._bare()
        self.cut = self.cut or self._at < len(self._text)
        self.opaque = self.opaque or self.cut or bool(self._frames)
        while self._frames:
            self._close()
        if not self._is_document:
            self._end_command()

    @property
    def _inside(self) -> Frame | None:
        return self._frames[-1][0] if self._frames else None

    # -- outside quotes

    def _bare(self) -> None:
        text, at = self._text, self._at
        sign = text[at]
        if sign == "'" and self._inside != "double_parameter":
            self._single()
        elif sign == '"':
            self._open("double", 1)
        elif sign == "\\":
            self._escape()
        elif sign == "`":
            self._tick()
        elif sign == "$":
            self._dollar()
        elif sign == "}" and self._inside in _PARAMETERS:
            self._close()
            self._at += 1
        elif self._inside in _PARAMETERS:
            self._plain(sign)
        else:
            self._outside_words(sign)

    def _escape(self) -> None:
        """Signs behind backslashes; a line that ends in one goes on in the next."""
        run = _ESCAPED_RUN.match(self._text, self._at)
        if run is None:
            self._at += 2
            return
        self._word().add(run[0][1::2])
        self._at = run.end()

    def _outside_words(self, sign: str) -> None:
        if sign == "\n" and self._here:
            self._read_documents()
        elif sign in " \t":
            self._command.end_word()
            self._at += 1
        elif sign == "<" and (range_ := _NUMERIC_GLOB.match(self._text, self._at)):
            word = self._word()
            word.pattern_at = word.size if word.pattern_at is None else word.pattern_at
            word.add(range_[0])
            self._at = range_.end()
        elif sign in "<>" or self._text.startswith("&>", self._at):
            self._redirection()
        elif sign == "(":
            if self._text.startswith("((", self._at):
                self._read_behind_arithmetic()
            self._end_command(_PATTERN_GROUP)
            self._open("group", 1)
            self.opaque = True
        elif sign == ")":
            self._end_command()
            self._close_parenthesis()
            self._at += 1
        elif sign in "{}":
            self._brace(sign)
        elif sign in _ENDS:
            self._end_command()
            self._at += 1
        else:
            self._plain(sign)

    def _brace(self, sign: str) -> None:
        """A sign of a word, or of a group, or of one of the two and nobody can tell.

        Within a word `{` is text, and `}` too unless the word ends there.
        """
        self.opaque = True
        command, word = self._command, self._command.word
        touches = self._text[self._at + 1 : self._at + 2] not in ("", *_BEFORE_BRACE)
        is_file = command.target != "words"
        is_word = is_file if word is None else sign == "{" or word.depth > 0 or touches
        goes_on = bool(command.words or (sign == "{" and command.kept))
        if not is_word and not (touches and goes_on):
            self._end_command(LineWord(sign))
        elif sign == "}":
            self._word().add_brace(Brace.CLOSE)
        else:
            begins = word is None and not command.words
            if not is_file and (begins or command.may_begin_group()):
                self._read_again(self._text[self._at + 1 :], is_document=False)
            self._word().add_brace(Brace.OPEN)
        self._at += 1

    def _plain(self, sign: str) -> None:
        word = self._command.word
        is_new = word is None or word.is_new
        if is_new and (home := self._home_here()) is not None:
            self._take_home(home)
            return
        self.opaque = self.opaque or sign == "!"
        self._may_skip = self._may_skip and (sign != "#" or self._command.word is not None)
        word = self._word()
        if run := _PLAIN_RUN.match(self._text, self._at):
            self._add_run(word, run[0])
            self._at = run.end()
            return
        if sign in _PATTERN and word.pattern_at is None and not self._is_inner_home():
            word.pattern_at = word.size
        run = _PATTERN_RUN.match(self._text, self._at)
        word.add(sign if run is None else run[0])
        self._at = self._at + 1 if run is None else run.end()

    def _add_run(self, word: OpenWord, text: str) -> None:
        """Plain text; commas inside braces lie between names."""
        if not word.depth:
            word.add(text)
            return
        for at, piece in enumerate(text.split(",")):
            if at:
                word.add_brace(Brace.COMMA)
            if piece:
                word.add(piece)

    def _home_here(self) -> re.Match[str] | None:
        """The home at the start of a word, also by the name of the user, mostly its last part."""
        found = _HOME.match(self._text, self._at)
        if found is None and self._text.startswith("~", self._at):
            user = re.escape(self._home.rpartition("/")[2])
            found = re.compile(rf"~{user}(?=[/ \t\n;&|<>(){{}}`]|\Z)").match(self._text, self._at)
        return found

    def _is_inner_home(self) -> bool:
        """`~` behind `=` or `:` is the home with MAGIC_EQUAL_SUBST, and not a pattern."""
        behind = self._text[self._at - 1 : self._at] in ("=", ":")
        return behind and _HOME.match(self._text, self._at) is not None

    def _single(self) -> None:
        end = self._text.find("'", self._at + 1)
        self.opaque = self.opaque or end < 0
        end = len(self._text) if end < 0 else end
        self._word().add(self._text[self._at + 1 : end])
        self._at = end + 1

    def _dollar(self) -> None:
        """`$HOME` at the start of a word is the home; every other value is unknown."""
        text, at = self._text, self._at
        home = _HOME.match(text, at)
        word = self._word()
        if home and (not word.size or word.is_new) and not word.expansion:
            self._take_home(home)
            return
        self.opaque = word.expansion = True
        ansi = _ANSI.match(text, at)
        if ansi:
            self._at = ansi.end()
        elif text.startswith("$(", at):
            if text.startswith("$((", at):
                self._read_behind_arithmetic()
            self._open("substitution", 2)
        elif text.startswith("${", at):
            self._open("parameter", 2)
        else:
            self._at += 1

    def _take_home(self, found: re.Match[str]) -> None:
        self.opaque = self.opaque or found[0].startswith("$")
        self._word().add(self._home)
        self._at = found.end()

    def _tick(self) -> None:
        """Opens a substitution, or closes the one that is open."""
        self.opaque = True
        if self._open_ticks:
            self._end_command()
            while self._inside != "tick":
                self._close()
            self._close()
            self._at += 1
        else:
            self._word().expansion = True
            self._open("tick", 1)

    # -- inside double quotes

    def _in_double(self) -> None:
        text, at = self._text, self._at
        sign = text[at]
        word = self._word()
        if sign == '"' and self._inside == "double":
            self._frames.pop()  # the command is the same inside and outside
            self._at += 1
        elif sign == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\"):
            word.add(text[at + 1])
            self._at += 2
        elif text.startswith("\\\n", at):
            self._at += 2
        elif sign == "`":
            self._tick()
        elif sign == "$":
            self._dollar_in_double(word)
        else:
            run = _DOUBLE_RUN.match(text, at)
            self.opaque = self.opaque or sign == "!"
            word.add(sign if run is None else run[0])
            self._at = at + 1 if run is None else run.end()

    def _dollar_in_double(self, word: OpenWord) -> None:
        text, at = self._text, self._at
        home = _HOME_IN_DOUBLE.match(text, at)
        self.opaque = True
        if home and (not word.size or word.is_new) and not word.expansion:
            word.add(self._home)
            self._at = home.end()
            return
        word.expansion = True
        if text.startswith("$(", at):
            if text.startswith("$((", at):
                self._read_behind_arithmetic()
            self._open("substitution", 2)
        elif text.startswith("${", at):
            self._open("double_parameter", 2)
        else:
            self._at += 1

    # -- redirections

    def _redirection(self) -> None:
        command = self._command
        text, at = self._text, self._at
        word = command.word
        is_digit = word is not None and word.size == 1 and text[at - 1] in "0123456789"
        if is_digit and text[at - 2 : at - 1] in ("", *_BREAKS):
            command.word = None  # a descriptor
        command.end_word()
        copy = _COPY.match(text, at)
        here = _HERE.match(text, at)
        writes = _WRITES.match(text, at)
        if copy:
            self._at = copy.end()
        elif here:
            self.opaque = True
            command.target = "nothing"
            self._note_document()
            self._at = here.end()
        elif text[at + 1 : at + 2] == "(":
            self.opaque = True
            self._word().expansion = True
            self._open("substitution", 2)
        else:
            command.target = _target(writes)
            self._at = writes.end() if writes else at + (2 if text.startswith("<&", at) else 1)

    def _note_document(self) -> None:
        """A document begins on the next line; where a plain one ends can be told beforehand."""
        plain = _HERE_PLAIN.match(self._text, self._at)
        self._here.append(plain if self._may_skip and not self._frames else None)

    def _read_documents(self) -> None:
        """Goes behind the texts of the documents; only substitutions run in them.

        Where the end of one cannot be told, the rest is both: its text, and commands.
        """
        for document in self._here:
            end = (
                None
                if document is None or self._frames
                else _end_of(document, self._text, self._at)
            )
            text = self._text[self._at : None if end is None else end.start()]
            if document is None or not document["quote"]:
                self._take_substitutions(text)
            if end is None:
                self._count_reading()
                break
            self._at = end.end()
        self._here = []
        self._end_command()
        self._at += 1

    def _read_behind_arithmetic(self) -> None:
        """`((` may be arithmetic: quotes mean themselves in it, also before the `))` of its end."""
        end = self._text.find("))", self._at)
        self._take_substitutions(self._text[self._at + 2 : None if end < 0 else end])
        if end >= 0:
            self._read_again(self._text[end + 2 :], is_document=False)

    def _count_reading(self) -> None:
        self._readings += 1
        self.cut = self.cut or self._readings > _MOST_READINGS

    def _take_substitutions(self, text: str) -> None:
        """The commands inside a text in which quotes mean themselves."""
        if "$(" not in text and "`" not in text and "${" not in text:
            return
        self._read_again(text, is_document=True)

    def _read_again(self, text: str, *, is_document: bool) -> None:
        """The commands of a text that zsh may read in this way too."""
        self._count_reading()
        if self.cut:
            return
        inner = _Splitter(text, self._home, is_document=is_document, readings=self._readings)
        inner.run()
        self.commands += inner.commands
        self._readings = inner._readings
        self.cut = self.cut or inner.cut

    # -- nesting

    def _word(self) -> OpenWord:
        if self._command.word is None:
            self._command.word = OpenWord()
        return self._command.word

    def _open(self, frame: Frame, size: int) -> None:
        """Goes inside; a substitution and a group hold commands of their own."""
        if frame == "double":
            self._word()
        self._frames.append((frame, self._command))
        if frame in _OWN_COMMANDS:
            self._command = OpenCommand()
        self._count(frame, 1)
        self._at += size

    def _close(self) -> None:
        """Leaves the innermost frame."""
        frame, outer = self._frames.pop()
        self._count(frame, -1)
        if frame in _OWN_COMMANDS:
            self._end_command()
            self._command = outer

    def _count(self, frame: Frame, by: int) -> None:
        self._open_ticks += by * (frame == "tick")
        self._open_parentheses += by * (frame in _PARENTHESES)

    def _close_parenthesis(self) -> None:
        """Leaves up to the frame that a `)` closes; a stray one closes nothing."""
        if not self._open_parentheses:
            return
        while self._inside not in _PARENTHESES:
            self._close()
        self._close()

    def _end_command(self, sign: LineWord | None = None) -> None:
        """`sign`: what ends it, or else is a part of a word, so that the words go on behind it."""
        command = self._command
        touches = command.word is not None and command.target == "words"
        done = command.done()
        if done.words or done.reads or done.writes:
            self.commands.append(done)
        self._names += command.names
        too_many = self._names > MOST_NAMES or len(command.kept) > _MOST_KEPT
        self.cut = self.cut or command.cut or too_many
        kept: list[list[LineWord]] = []
        if sign is None:
            self.commands += [LineCommand(tuple(words)) for words in command.kept]
        else:
            kept = command.kept_over(sign, touches=touches)
        self._command = OpenCommand(kept=kept)


def _end_of(document: re.Match[str], text: str, at: int) -> re.Match[str] | None:
    """The line that ends a plain document."""
    tabs = r"\t*" if document["tabs"] else ""
    return re.compile(rf"\n{tabs}{document['end']}(?=\n|\Z)").search(text, at)


def _target(found: re.Match[str] | None) -> Literal["reads", "writes", "truncates"]:
    """What a redirection does to its file."""
    if found is None:
        return "reads"
    return "writes" if ">>" in found[0] or found[0] == "<>" else "truncates"
