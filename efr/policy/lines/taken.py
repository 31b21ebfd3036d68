"""What a line would take away whole: recursive deletes, moves, and writes over a device.

Pure. Like every lenient reading it names one thing too many rather than one too few; a target that
the line does not show is None.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from efr.policy.lines.inner import base_name, programs_behind
from efr.policy.lines.paths import PathList
from efr.policy.lines.programs import run_program
from efr.policy.lines.split import LineWord, split_line

Words = Sequence[LineWord]

_OVER_NODES: Final = re.compile(r"mkfs(?:\..*)?|mke2fs|wipefs|shred|blkdiscard")
_RECURSIVE: Final = re.compile(r"-[A-Za-z]*[rR]|--r(?:e(?:c(?:u(?:r(?:s(?:i(?:ve?)?)?)?)?)?)?)?$")
_REMOVERS: Final = frozenset(("rm", "unlink", "shred"))


class Taken(Struct, frozen=True):
    """One target; the path is absolute and unfolded. `is_node`: a device is written over."""

    path: str | None
    is_node: bool = False


def taken_by_line(line: str, directory: str | None, home: str) -> tuple[Taken, ...]:
    """Every target of a line that starts in `directory`."""
    paths = PathList(home, directory)
    found: dict[Taken, None] = {}
    split = split_line(line, home)
    for command in split.commands:
        for words in programs_behind(command.words, home):
            name, operands = base_name(words[0].text), _operands(words[1:])
            for word in _targets(name, words[1:], operands):
                found.update(dict.fromkeys(_resolved(word, paths)))
            found.update(dict.fromkeys(_nodes(name, words[1:], operands)))
        paths.command(command, run_program)
    if split.cut:
        found[Taken(None)] = None
    return tuple(found)


def _operands(words: Words) -> list[LineWord]:
    return [word for word in words if not word.text.startswith("-") or word.text == "-"]


def _targets(name: str, words: Words, operands: Words) -> Iterator[LineWord]:
    """The words that name what goes."""
    texts = [word.text for word in words]
    if name == "rm" and any(map(_RECURSIVE.match, texts)):
        yield from operands
    elif name == "mv":
        into = any(re.match(r"-[A-Za-z]*t|--t", text) for text in texts)
        yield from operands if into else operands[:-1]
    elif name == "rsync" and any(text.startswith("--del") for text in texts):
        yield from operands[-1:]
    elif name == "find" and _find_removes(texts):
        yield from _find_starts(words)


def _find_removes(texts: Sequence[str]) -> bool:
    executes = any(text.startswith(("-exec", "-ok")) for text in texts)
    return "-delete" in texts or (
        executes and not _REMOVERS.isdisjoint(base_name(text) for text in texts)
    )


def _find_starts(words: Words) -> list[LineWord]:
    """Up to the first test; the working directory without one."""
    starts: list[LineWord] = []
    for word in words:
        if word.text in ("-H", "-L", "-P"):
            continue
        if word.text.startswith("-") or word.text in ("(", "!", ","):
            break
        starts.append(word)
    return starts or [LineWord(".")]


def _resolved(word: LineWord, paths: PathList) -> Iterator[Taken]:
    """The target under every directory where the shell may stand; a pattern is its directory."""
    text = word.text
    if word.pattern_at is not None:
        text = text[: text.rfind("/", 0, word.pattern_at) + 1] or "."
    if word.expansion or not text or (paths.is_lost and not text.startswith(("/", "~"))):
        yield Taken(None)
    for path in () if word.expansion else paths.absolute(text):
        yield Taken(path)


def _nodes(name: str, words: Words, operands: Words) -> Iterator[Taken]:
    """Devices that are written over."""
    if name == "dd":
        names = [word.text[3:] for word in words if word.text.startswith("of=")]
    else:
        names = [word.text for word in operands] if _OVER_NODES.fullmatch(name) else []
    for text in names:
        if text.startswith("/dev/"):
            yield Taken(text, is_node=True)
