"""Options of the programs whose operands decide what they read or write.

Pure. Tables of option letters and names, and one reader for them. An option that no table knows
makes the reading say so, and the caller then takes every operand for a path. Facts: the manual
pages of GNU coreutils and grep, of ripgrep and of tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from efr.policy.lines.split import LineWord


class Options(Struct, frozen=True):
    """One program: letters and names, without and with a value."""

    flags: str
    valued: str
    long_flags: frozenset[str]
    long_valued: frozenset[str]
    files: frozenset[str] = frozenset()  # options whose value is a file that is read
    recursive: frozenset[str] = frozenset()  # options that mean everything below
    following: frozenset[str] = frozenset()  # options that go through links on the way down


class Given(Struct, frozen=True):
    """What stands on a line. `known`: every option is in the table and nothing is hidden."""

    operands: tuple[LineWord, ...]
    options: tuple[tuple[str, LineWord | None], ...]  # letters as `x`, names in full
    known: bool
    late: bool  # an option comes after an operand

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.options)

    def values(self, names: frozenset[str]) -> list[LineWord]:
        return [value for name, value in self.options if name in names and value is not None]


def read_options(words: Sequence[LineWord], table: Options) -> Given:
    """The words after a program, by its table."""
    reader = _Reader(table)
    rest = iter(words)
    for word in rest:
        if word.text == "--":
            reader.operands += rest
        elif word.text.startswith("--"):
            reader.long(word, rest)
        elif word.text.startswith("-") and word.text != "-":
            reader.cluster(word, rest)
        else:
            reader.operands.append(word)
    known = reader.known and not any(word.expansion for word in words)
    return Given(tuple(reader.operands), tuple(reader.options), known, reader.late)


class _Reader:
    def __init__(self, table: Options) -> None:
        self._table = table
        self.operands: list[LineWord] = []
        self.options: list[tuple[str, LineWord | None]] = []
        self.known = True
        self.late = False

    def long(self, word: LineWord, rest: Iterator[LineWord]) -> None:
        self._note()
        name, equals, value = word.text[2:].partition("=")
        recursive = [one for one in self._table.recursive if len(one) > 1 and one.startswith(name)]
        if recursive:  # also where the abbreviation is ambiguous
            self.options.append((recursive[0], None))
            return
        full = self._full(name)
        if full is None:
            self.known = False
            if equals:
                self.options.append((name, word.tail(len(name) + 3)))
        elif full in self._table.long_valued and not equals:
            self.options.append((full, next(rest, None)))
        else:
            self.options.append((full, word.tail(len(name) + 3) if value else None))

    def cluster(self, word: LineWord, rest: Iterator[LineWord]) -> None:
        self._note()
        for at, letter in enumerate(word.text[1:], start=1):
            if letter in self._table.valued:
                attached = len(word.text) > at + 1
                self.options.append((letter, word.tail(at + 1) if attached else next(rest, None)))
                return
            self.options.append((letter, None))
            if letter not in self._table.flags:
                self.known = False

    def _note(self) -> None:
        self.late = self.late or bool(self.operands)

    def _full(self, name: str) -> str | None:
        """The name that this one is, or abbreviates alone."""
        names = self._table.long_flags | self._table.long_valued
        if name in names:
            return name
        found = [one for one in names if one.startswith(name)]
        return found[0] if len(found) == 1 else None


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


LS: Final = Options(
    "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1",
    "ITw",
    _names(
        "all almost-all author escape directory classify file-type human-readable si inode"
        " dereference numeric-uid-gid literal hide-control-chars show-control-chars quote-name"
        " recursive reverse size context zero full-time group-directories-first no-group color"
        " hyperlink"
    ),
    _names(
        "block-size format hide ignore indicator-style quoting-style sort tabsize time time-style"
        " width"
    ),
    recursive=_names("R recursive"),
    following=_names("L dereference"),
)
RG: Final = Options(
    "abcFHhiIlLnNopPqsSuUvVwxz0.",
    "ABCdEefgjMmrtT",
    _names(
        "hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-dot no-ignore-global"
        " no-ignore-exclude ignore-case smart-case case-sensitive line-number no-line-number"
        " heading no-heading fixed-strings word-regexp line-regexp count count-matches"
        " files-with-matches files-without-match follow json vimgrep invert-match only-matching"
        " no-filename with-filename multiline multiline-dotall unrestricted stats trim pretty"
        " no-messages null column text binary byte-offset quiet passthru search-zip sort-files"
        " no-config files type-list crlf pcre2 one-file-system no-require-git"
        " glob-case-insensitive include-zero color"
    ),
    _names(
        "regexp file glob iglob type type-not type-add type-clear max-count after-context"
        " before-context context max-columns threads encoding replace max-depth max-filesize sort"
        " sortr colors ignore-file pre pre-glob engine context-separator path-separator"
    ),
    files=_names("f file ignore-file"),
    following=_names("L follow"),
)
GREP: Final = Options(
    "abcEFGhHiIlLnoPqrRsTuUvVwxyZz0123456789",
    "efmABCdDX",
    _names(
        "extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case"
        " word-regexp line-regexp null-data no-messages invert-match byte-offset line-number"
        " with-filename no-filename files-without-match files-with-matches count only-matching"
        " quiet silent recursive dereference-recursive text initial-tab null color colour"
        " line-buffered"
    ),
    _names(
        "regexp file max-count after-context before-context context directories devices include"
        " exclude exclude-dir exclude-from label binary-files group-separator"
    ),
    files=_names("f file exclude-from"),
    recursive=_names("r R recursive dereference-recursive"),
    following=_names("R dereference-recursive d directories"),
)
DU: Final = Options(
    "abcDhHkLlmPsSx0",
    "BdtX",
    _names(
        "all apparent-size bytes total dereference-args human-readable inodes count-links"
        " dereference no-dereference null separate-dirs si summarize one-file-system time"
    ),
    _names("block-size max-depth threshold exclude-from files0-from time-style exclude"),
    files=_names("X exclude-from files0-from"),
    following=_names("L dereference"),
)
TREE: Final = Options(
    "adlfxACDFgihnNpqQrstSuUvJXRc",
    "HTLPIo",
    _names(
        "noreport dirsfirst filesfirst inodes device du si prune gitignore matchdirs ignore-case"
        " info fromfile metafirst nolinks"
    ),
    _names("charset filelimit timefmt sort infofile gitfile"),
    files=_names("infofile gitfile"),
    following=_names("l"),
)
CP: Final = Options(
    "abdfHilLnPpRrsuvxTZ",
    "St",
    _names(
        "archive attributes-only backup copy-contents debug dereference force interactive link"
        " no-clobber no-dereference no-target-directory one-file-system parents preserve recursive"
        " reflink remove-destination strip-trailing-slashes symbolic-link update verbose context"
        " keep-directory-symlink"
    ),
    _names("suffix target-directory no-preserve sparse"),
)
LN: Final = Options(
    "bdFfiLnPrsvT",
    "St",
    _names(
        "backup directory force interactive logical no-dereference no-target-directory physical"
        " relative symbolic verbose"
    ),
    _names("suffix target-directory"),
)
