"""What differs between two snapshots of one directory: the list, and the text of the diff.

Blocks on git; needs no gate, for it only reads. An ignored file has one line and no content, and
so has one that is too large.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from efr.snapshots.choice import Mark, read_left_out
from efr.snapshots.errors import GitFailed
from efr.snapshots.git import Budget, Git
from efr.snapshots.objects import EMPTY_TREE
from efr.snapshots.snapshot import Change, Hidden, Kind, Snapshot
from efr.snapshots.take import FILES, IGNORED, LEFT_OUT

_PLAIN: Final = ("--no-ext-diff", "--no-textconv", "--no-color")
_KINDS: Final[dict[str, Kind]] = {"A": "added", "D": "deleted", "R": "renamed"}
_MOST_NAMED: Final = 500  # paths that one command line takes out of a diff, or names for it
_MOST_CHARS: Final = 256 * 1024  # of them together; execve(2) takes 2 MiB


class CutText(Struct):
    """The first lines of a long text, and how many more there are."""

    max_lines: int
    max_bytes: int
    kept: bytearray = field(default_factory=bytearray)
    lines: int = 0  # complete lines that are kept
    more: int = 0

    def add(self, piece: bytes) -> None:
        """The next part of it."""
        room = self.max_lines - self.lines
        found = piece.count(b"\n")
        if not self.more and found <= room and len(self.kept) + len(piece) <= self.max_bytes:
            self.kept += piece
            self.lines += found
            return
        for line in piece.splitlines(keepends=True):
            fits = self.lines < self.max_lines and len(self.kept) + len(line) <= self.max_bytes
            if fits and not self.more:
                self.kept += line
                self.lines += line.endswith(b"\n")
            else:
                self.more += line.endswith(b"\n") or not self.more

    def text(self) -> str:
        """Whole lines of it, and one that says how many are cut."""
        kept = bytes(self.kept)
        if self.more:
            kept = kept[: kept.rfind(b"\n") + 1] + f"... {self.more} more lines\n".encode()
        return kept.decode("utf-8", "replace")


def load(git: Git, commit: str, budget: Budget) -> Snapshot | None:
    """A snapshot that was kept; None when it is gone. Raises GitTimedOut, Cancelled."""
    try:
        out = git.run("ls-tree", "-z", commit, budget=budget)
        entries = dict(_entry(line) for line in out.decode().split("\0")[:-1])
        text = git.run("cat-file", "blob", entries[LEFT_OUT], budget=budget)
        large = read_left_out(os.fsdecode(text))
    except (GitFailed, KeyError, ValueError):
        return None
    root = git.root or ""
    return Snapshot(root, entries[FILES], entries.get(IGNORED), large)


def _entry(line: str) -> tuple[str, str]:
    about, _, name = line.partition("\t")
    return name, about.split(" ")[2]


def changes(git: Git, before: Snapshot, after: Snapshot, budget: Budget) -> list[Change]:
    """What changed, by path. Raises GitFailed, GitTimedOut, Cancelled."""
    return _changes(git, before, after, budget)[0]


def _changes(
    git: Git, before: Snapshot, after: Snapshot, budget: Budget
) -> tuple[list[Change], frozenset[str]]:
    """What changed, by path; and which of those paths are in the trees of the files."""
    found = {one.path: one for one in _differ(git, before.files, after.files, budget)}
    in_trees = frozenset(found)
    hidden = _are_ignored(git, found, budget)
    for path in hidden:
        found[path] = replace(found[path], hidden=Hidden.IGNORED)
    if before.ignored is not None and after.ignored is not None:
        for one in _differ(git, before.ignored, after.ignored, budget):
            _put_over(found, replace(one, hidden=Hidden.IGNORED))
    for path in {**before.large, **after.large}:
        kind = _large_kind(path, before.large.get(path), after.large.get(path), found)
        if kind is not None:
            found[path] = Change(path, kind, binary=True, hidden=Hidden.LARGE)
    return sorted(found.values(), key=lambda one: os.fsencode(one.path)), in_trees


def _put_over(found: dict[str, Change], one: Change) -> None:
    """A file that moved from one kind to the other was there before and is there after."""
    other = found.get(one.path)
    if other is not None and {other.kind, one.kind} == {"added", "deleted"}:
        one = replace(one, kind="modified")
    found[one.path] = one


def _large_kind(
    path: str, before: Mark | None, after: Mark | None, found: dict[str, Change]
) -> Kind | None:
    """None: it is as it was. What the trees say of it is that it came or went."""
    if before == after:
        return None
    if path in found or (before is not None and after is not None):
        return "modified"
    return "added" if before is None else "deleted"


def _differ(git: Git, before: str, after: str, budget: Budget) -> Iterator[Change]:
    if before == after:
        return
    out = git.run(
        "diff-tree", "-r", "-z", "-M", "--raw", "--numstat", *_PLAIN, before, after, budget=budget
    )
    words = iter(os.fsdecode(out).split("\0")[:-1])
    kinds: dict[str, tuple[Kind, str | None]] = {}
    for word in words:
        if word.startswith(":"):
            letter = word.rsplit(" ", 1)[1][:1]
            path = next(words)
            source = path if letter == "R" else None
            path = next(words) if letter == "R" else path
            kinds[path] = (_KINDS.get(letter, "modified"), source)
            continue
        added, removed, path = word.split("\t", 2)
        if not path:
            next(words)
            path = next(words)
        kind, source = kinds[path]
        binary = added == "-"
        counts = (0, 0) if binary else (int(added), int(removed))
        yield Change(path, kind, source, *counts, binary=binary)


def _are_ignored(git: Git, paths: Iterable[str], budget: Budget) -> list[str]:
    """Those that git ignores as the directory is now: one may have been taken before it was."""
    # The dot keeps git from reading a name like `:(glob)*` as a pattern.
    given = b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths)
    if not given or git.root is None or not os.path.isdir(git.root):
        return []
    out = git.run(
        "check-ignore", "--no-index", "-z", "--stdin", budget=budget, given=given, ok=(0, 1)
    )
    return [path.removeprefix("./") for path in os.fsdecode(out).split("\0")[:-1]]


def write_patch(
    git: Git,
    before: Snapshot,
    after: Snapshot,
    prefix: str,
    into: CutText,
    budget: Budget,
    but: Sequence[str] = (),
) -> None:
    """The unified diff, and a line for each file whose content is not shown. `prefix` stands
    before every path; `but`: directories in it that are passed over. Raises GitFailed,
    GitTimedOut, Cancelled."""
    found, in_trees = _changes(git, before, after, budget)
    found = [one for one in found if not any(one.path.startswith(f"{path}/") for path in but)]
    hidden = [one for one in found if one.hidden is not None]
    if before.files != after.files:
        wanted = _wanted([one for one in found if one.path in in_trees], but)
        if wanted is None:
            into.add(b"too many ignored files changed, content of the others not shown\n")
        elif wanted:
            git.lines(
                "diff-tree",
                "-r",
                "-p",
                "-M",
                *_PLAIN,
                f"--src-prefix=a/{prefix}",
                f"--dst-prefix=b/{prefix}",
                before.files,
                after.files,
                "--",
                *wanted,
                budget=budget,
                take=into.add,
            )
    for one in hidden:
        why = one.hidden.value if one.hidden is not None else ""
        shown = f"{prefix}{one.path}".replace("\n", "\ufffd")
        into.add(f"{shown}: {why}, content not shown\n".encode("utf-8", "replace"))


def _wanted(found: Sequence[Change], but: Sequence[str]) -> list[str] | None:
    """The pathspecs of what is shown, all but the hidden ones or each by name; None: too many."""
    left_out = [*but, *(one.path for one in found if one.hidden is not None)]
    hidden = [f":(exclude,literal,top){path}" for path in left_out]
    if _fits(hidden):
        return [".", *hidden]
    plain = [one for one in found if one.hidden is None]
    names = [one.path for one in plain] + [one.from_path for one in plain if one.from_path]
    shown = [f":(literal,top){name}" for name in names]
    return shown if _fits(shown) else None


def _fits(pathspecs: Sequence[str]) -> bool:
    """Whether a command line takes them, and git looks through them soon enough."""
    return len(pathspecs) <= _MOST_NAMED and sum(map(len, pathspecs)) <= _MOST_CHARS


def empty_of(root: str) -> Snapshot:
    """The snapshot of a directory with nothing in it."""
    return Snapshot(root, EMPTY_TREE, EMPTY_TREE)
