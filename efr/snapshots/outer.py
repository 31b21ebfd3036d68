"""What the repository around a directory ignores in it: a package of a larger repository has its
rules above it, where a snapshot of the package alone does not look.

Takes `.gitignore` of the directories above, and `info/exclude`, and turns each pattern into one
that says the same from inside. Blocks on the file system. Source: gitignore(5).
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

Read = Callable[[str], bytes]  # a small file, or nothing

_ESCAPED: Final = re.compile(r"\\(.)")
_TRAILING: Final = re.compile(r"(?<!\\) +$")
_ANY_DEPTH: Final = "**"


def outer_patterns(root: str, home: str | None, read: Read, excludes_of: Read) -> bytes:
    """Patterns for a directory, the weakest first. Nothing when it is a repository itself, when
    only a repository at the home or above it would hold it, and when the outer one ignores it: who
    names such a directory as a project wants to see it. `excludes_of` reads what a repository
    excludes, by its directory."""
    top = _top(root, home)
    if top is None:
        return b""
    inside = root[len(top) :].strip("/").split("/")
    rules = _Rules(len(inside))
    rules.take(excludes_of(top), inside)
    for depth in range(len(inside)):
        folder = os.path.join(top, *inside[:depth])
        rules.take(read(os.path.join(folder, ".gitignore")), inside[depth:])
    if any(rules.ignored):
        return b""
    return b"".join(os.fsencode(line) + b"\n" for line in rules.lines)


def _top(root: str, home: str | None) -> str | None:
    """The nearest directory above that is a repository of the user. Git as well reads nothing of
    one that belongs to somebody else (safe.directory)."""
    folder = root
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder = os.path.dirname(folder)
        if folder == "/" or (home is not None and f"{home}/".startswith(f"{folder}/")):
            return None
    if folder == root or os.lstat(folder).st_uid != os.geteuid():
        return None
    return folder


class _Rules:
    """The patterns as they are from inside, and whether they ignore the way there."""

    def __init__(self, depth: int) -> None:
        self.lines: list[str] = []
        self.ignored = [False] * depth  # each directory from the repository's down to ours

    def take(self, content: bytes, inside: Sequence[str]) -> None:
        """The patterns of one file; `inside` is the way from its directory to ours."""
        for line in os.fsdecode(content).split("\n"):
            pattern = _TRAILING.sub("", line.removesuffix("\r"))
            if pattern and not pattern.startswith("#"):
                self._pattern(pattern, inside)

    def _pattern(self, pattern: str, inside: Sequence[str]) -> None:
        sign, body = ("!", pattern[1:]) if pattern.startswith("!") else ("", pattern)
        end = "/" if body.endswith("/") else ""
        parts = body.removesuffix("/").split("/")
        above = len(self.ignored) - len(inside)
        if len(parts) == 1:  # at any depth
            self.lines.append(pattern)
            parts = [_ANY_DEPTH, *parts]
        else:
            parts = parts[parts[0] == "" :]
            twice = [_ANY_DEPTH, _ANY_DEPTH]  # means no more than once
            parts = [one for at, one in enumerate(parts) if parts[at : at + 2] != twice]
            self.lines += [f"{sign}/{'/'.join(rest)}{end}" for rest in _rests(parts, inside)]
        for at in range(len(inside)):
            if _matches(parts, inside[: at + 1]):
                self.ignored[above + at] = not sign


def _rests(pattern: Sequence[str], inside: Sequence[str]) -> Iterator[Sequence[str]]:
    """What is left of a pattern below the end of a path; nothing when it ends there or above."""
    yield from (pattern[at:] for at in sorted(_reached(pattern, inside)) if at < len(pattern))


def _matches(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a pattern means the path itself."""
    return len(pattern) in _reached(pattern, path)


def _reached(pattern: Sequence[str], path: Sequence[str]) -> set[int]:
    """The parts of a pattern that may come next, behind a path."""
    reached = {0}
    for name in path:
        behind = set[int]()
        for at in reached:
            is_any = pattern[at : at + 1] == [_ANY_DEPTH]
            if is_any:  # in front any number of directories, at the end at least one
                behind |= {at, at + 1} if at + 1 == len(pattern) else {at}
            here = at + is_any
            if here < len(pattern) and _is(name, pattern[here]):
                behind.add(here + 1)
        reached = behind
    return reached


def _is(name: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(name, _ESCAPED.sub(r"[\1]", pattern).replace("[^", "[!"))
