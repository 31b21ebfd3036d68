"""The paths that a command line names, as far as its text shows them.

Pure and total. A declared path only makes a decision stricter, so what is unsure is declared too.
Paths stay unfolded (`a/../b`), because a link before `..` leads elsewhere. What each program does
with its words is in `efr.policy.lines.programs`. Not seen: what links lead to, what programs choose
by themselves, what an expansion holds.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal

from efr.policy.lines.split import LineCommand, LineWord
from efr.policy.needs import Access, PathUse
from efr.policy.paths import holds, normal

_MOST_PATHS: Final = 1000  # a line that names more is declared as everything
_MOST_BASES: Final = 32  # each `cd` may double them; then the directory counts as unknown
_MOST_PARTS: Final = 8  # of one word; a real one has one or two
# A program's own descriptors: no files of anybody, though they lead below /proc.
_OWN_STREAMS: Final = re.compile(r"/dev/(?:stdin|stdout|stderr|fd/[0-9]+)")
_LETTERS: Final = string.ascii_letters + string.digits
_DIRECTORY_ENTRY: Final = re.compile(r"[-+][0-9]*")

Program = Callable[["PathList", Sequence[LineWord]], None]


class PathList:
    """What was found so far, and where the shell may stand."""

    def __init__(self, home: str, directory: str | None) -> None:
        self.home = home
        self.depth = 0  # of a text that a program of the line runs
        self.uses: dict[PathUse, None] = {}
        self._bases = [] if directory is None else [directory]
        self._lost = directory is None  # it may stand anywhere
        self._made: set[str] = set()  # written on this line: they may be links by now
        self._declared: set[tuple[LineWord, Access, bool, int | None]] = (
            set()
        )  # since any of these changed

    def command(self, command: LineCommand, program: Program) -> None:
        """One command: its redirections, then what its program does with its words."""
        for word in command.reads:
            self.declare(word, "read")
        for word in command.writes:
            self.declare(word, "write")
        words = command.after_assignments()
        if words and words[0].expansion:
            self.anything(words[1:])
        elif words:
            program(self, words)

    # -- words

    def anything(
        self, words: Sequence[LineWord], access: Access = "read", *, follows: int | None = 0
    ) -> None:
        """A program that no table knows: each operand and each value of an option."""
        operands_only = False
        for word in words:
            if word.text == "--" and not operands_only:
                operands_only = True
            elif word.text == "-" or word.expansion:
                continue
            elif word.text.startswith("-") and not operands_only:
                self.option(word, access)
            else:
                self.operand(word, access, follows=follows)

    def operands(
        self, words: Sequence[LineWord], access: Access, *, follows: int | None = 0
    ) -> None:
        """Words that are no options."""
        for word in words:
            if word.text != "-":
                self.operand(word, access, follows=follows)

    def operand(self, word: LineWord, access: Access, *, follows: int | None = 0) -> None:
        """The word, and what stands in it behind `:`, `=` and `@`."""
        self.declare(word, access, follows=follows)
        for part in _parts(word):
            self.declare(part, access, follows=follows)

    def option(self, word: LineWord, access: Access) -> None:
        """The value in `--name=value`, `--name/value`, `-xvalue`, `-abxvalue`."""
        text = word.text
        starts = {text.find("=") + 1}
        if "/" in text:
            starts.add(text.index("/"))
        if not text.startswith("--"):
            starts.add(2)
            # Behind a cluster the value of its last letter; a file's name starts with a dot or so.
            starts.add(len(text) - len(text[1:].lstrip(_LETTERS)))
        for start in sorted(starts):
            if 0 < start < len(text):
                self.operand(word.tail(start), access)

    # -- paths

    def declare(
        self, word: LineWord, access: Access, *, guessed: bool = False, follows: int | None = 0
    ) -> None:
        """One word as a path, under every directory where the shell may stand."""
        known = (word, access, guessed, follows)
        if word.expansion or not word.text or known in self._declared:
            return
        self._declared.add(known)
        if len(self.uses) >= _MOST_PATHS:
            self._anywhere(access, "many")
            return
        text = word.text
        if word.pattern_at is not None:
            if ".." in text[word.pattern_at :].split("/"):
                self._anywhere(access, "climbs")  # out of a directory that the line does not name
                return
            fixed = text.rfind("/", 0, word.pattern_at) + 1
            if follows is not None:
                follows = None if "**" in text else text.count("/", fixed) + 1
            text, access = text[:fixed], _whole(access)
        if text == "~" or text.startswith("~/"):
            text = self.home + text[1:]
        for path in self._absolute(text):
            self._add(PathUse(path, access, guessed, follows=follows))
        if self._lost and not text.startswith("/"):
            self._anywhere(access, "moved")

    def _anywhere(self, access: Access, why: Literal["moved", "made", "many", "climbs"]) -> None:
        """A word whose place the line does not show."""
        self.uses[PathUse("/", _whole(access), unsure=why)] = None

    def absolute(self, text: str) -> list[str]:
        """The text as a path under every directory where the shell may stand."""
        is_home = text == "~" or text.startswith("~/")
        return self._absolute(self.home + text[1:] if is_home else text)

    @property
    def is_lost(self) -> bool:
        """Whether the shell may stand anywhere."""
        return self._lost

    def here(self, access: Access, *, follows: int | None = 0) -> None:
        """The working directory itself."""
        self.declare(LineWord("."), access, follows=follows)

    def may_be_links(self, words: Sequence[LineWord]) -> None:
        """What was just written there may lead anywhere from now on."""
        paths = (path for word in words if word.text for path in self._absolute(word.text))
        before = len(self._made)
        self._made.update(map(normal, paths))
        if len(self._made) > before:
            self._declared.clear()
        if len(self._made) > _MOST_PATHS:
            self._made = {"/"}

    def _absolute(self, text: str) -> list[str]:
        if text.startswith("/"):
            return [text]
        return [f"{base.rstrip('/')}/{text}" for base in self._bases]

    def _add(self, use: PathUse) -> None:
        if _OWN_STREAMS.fullmatch(use.path):
            return
        if self._made:
            folded = normal(use.path)
            if any(holds(made, folded) for made in self._made):
                self._anywhere(use.access, "made")
        self.uses[use] = None

    # -- directories

    def change_directory(self, words: Sequence[LineWord]) -> None:
        """`cd`: one directory more, since a `cd` in a pipe or behind `||` may not happen."""
        operands = [word for word in words if word.text not in ("-q", "-s", "-L", "-P", "--")]
        if len(self._bases) >= _MOST_BASES:
            self.lose_directory()
            self.operands(operands, "read")
        elif not operands:
            self._stand_also([self.home])
        elif len(operands) == 1 and _is_plain_directory(operands[0]):
            self.declare(operands[0], "read")
            self._stand_also(self._absolute(operands[0].text))
        else:
            self.lose_directory()

    def _stand_also(self, directories: Sequence[str]) -> None:
        """Unfolded, like every path: the base before a `..` may be a link."""
        self._bases = list(dict.fromkeys((*self._bases, *directories)))
        self._declared.clear()

    def lose_directory(self) -> None:
        """From here on the shell may stand anywhere."""
        if not self._lost:
            self._declared.clear()
        self._lost = True

    def everything(self) -> None:
        """The line is too long to say what it names."""
        self._anywhere("write", "many")


def _whole(access: Access) -> Access:
    return "write" if access == "write" else "read_tree"


def _parts(word: LineWord) -> Iterator[LineWord]:
    """What may be a path inside a word: behind `:`, `=` or a leading `@`."""
    if word.text.startswith("@"):
        yield word.tail(1)
    if "://" in word.text:
        return
    signs = [at for at, sign in enumerate(word.text[:-1]) if sign in ":="]
    for at in signs[:_MOST_PARTS]:
        rest = word.tail(at + 1)
        yield rest
        if rest.text.startswith("@"):
            yield rest.tail(1)


def _is_plain_directory(word: LineWord) -> bool:
    is_entry = _DIRECTORY_ENTRY.fullmatch(word.text) is not None
    return not (is_entry or word.expansion or word.pattern_at is not None or not word.text)
