"""Which of the files that changed go into a snapshot, and which are left out.

Reads sizes and kinds from the file system, never contents, and never through a link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct, field

# Made by tools from what is in the snapshot anyway, and large.
MADE: Final = frozenset(
    ("target", "node_modules", ".venv", "venv", "__pycache__", "dist", "build", ".next", ".cache")
)
SMALL: Final = 64 << 10  # bytes that are not counted when files are put in batches
IGNORED_BYTES: Final = 1 << 20  # of one ignored file
IGNORED_FILES: Final = 2000
IGNORED_DEPTH: Final = 16
IGNORED_TOTAL: Final = 64 << 20  # of all of them: settings and keys are small, logs are not
_LOOKS: Final = 20_000  # entries of ignored directories that are looked at
_LISTED: Final = 1000  # left-out files that are known by name

Mark = tuple[int, int]  # size and time of change: what is known of a file that is left out


class Limits(Struct, frozen=True):
    """From the settings."""

    max_file_bytes: int
    max_files: int
    ignored: bool  # small ignored files too


class Chosen(Struct):
    """What to do with the paths that git named. Paths are relative, as bytes of the system."""

    put: list[str] = field(default_factory=list)  # new, changed or gone
    drop: list[str] = field(default_factory=list)  # in the index, and not wanted any more
    sizes: dict[str, int] = field(
        default_factory=dict
    )  # bytes of those in `put` that are not small
    large: dict[str, Mark] = field(default_factory=dict)
    skipped: int = 0


def parse_status(out: bytes) -> tuple[list[tuple[str, str]], list[str]]:
    """(code, path) of what differs from the index, and the ignored paths, of
    `git status --porcelain -z --no-renames --ignored=matching`. Directories end with `/`."""
    changed: list[tuple[str, str]] = []
    ignored: list[str] = []
    for record in os.fsdecode(out).split("\0"):
        code, path = record[:2], record[3:]
        if code == "!!":
            ignored.append(path)
        elif code == "??" or (path and code[1] != " "):
            changed.append((code, path))
    return changed, ignored


def below(root: str, paths: Iterable[str]) -> frozenset[str]:
    """Those of some absolute paths that are in a directory, relative to it."""
    start = root.rstrip("/") + "/"
    return frozenset(path[len(start) :] for path in paths if path.startswith(start))


def _is_left(path: str, left_alone: frozenset[str]) -> bool:
    """Whether it is, or is below, a path that is left alone."""
    if not left_alone:
        return False
    parts = path.rstrip("/").split("/")
    return any("/".join(parts[:size]) in left_alone for size in range(1, len(parts) + 1))


def choose(
    root: str, changed: Iterable[tuple[str, str]], limits: Limits, left_alone: frozenset[str]
) -> Chosen:
    """Sorts the changed paths. `left_alone` ones are passed over silently."""
    chosen = Chosen()
    for code, path in changed:
        if _is_left(path, left_alone):
            if code != "??":  # taken before it was to be left alone
                chosen.drop.append(path)
            continue
        if path.endswith("/"):
            chosen.skipped += 1  # a repository of its own
            continue
        _sort(root, code, path, limits, chosen)
    return chosen


def _sort(root: str, code: str, path: str, limits: Limits, chosen: Chosen) -> None:
    whole = os.path.join(root, path)
    try:
        seen = os.lstat(whole)
    except (FileNotFoundError, NotADirectoryError):
        if code != "??":
            chosen.put.append(path)
        return
    except OSError:  # in a folder that may not be searched: it stays as it was known
        chosen.skipped += 1
        return
    if _no_git_takes(path, seen.st_mode):
        chosen.skipped += 1
    elif stat.S_ISLNK(seen.st_mode):
        chosen.put.append(path)
    elif not stat.S_ISREG(seen.st_mode):
        _leave_out(code, path, chosen)
    elif seen.st_size > limits.max_file_bytes:
        _leave_out(code, path, chosen)
        if len(chosen.large) < _LISTED:
            chosen.large[path] = (seen.st_size, seen.st_mtime_ns)
    elif not os.access(whole, os.R_OK):
        chosen.skipped += 1
    else:
        chosen.put.append(path)
        if seen.st_size > SMALL:
            chosen.sizes[path] = seen.st_size


def _no_git_takes(path: str, mode: int) -> bool:
    """Names that git's index refuses: a `.git` in any case, a link that is called `.gitmodules`."""
    parts = path.lower().split("/")
    return ".git" in parts or (parts[-1] == ".gitmodules" and stat.S_ISLNK(mode))


def _leave_out(code: str, path: str, chosen: Chosen) -> None:
    chosen.skipped += 1
    if code != "??":
        chosen.drop.append(path)


class Ignored(Struct):
    """The ignored files that are wanted, each with what tells that it changed."""

    files: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    skipped: int = 0


def choose_ignored(root: str, named: Iterable[str], left_alone: frozenset[str]) -> Ignored:
    """The small ones of the paths that git ignores."""
    found = Ignored()
    total = 0
    for path, seen in _walk(root, named, left_alone):
        if not (stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode)):
            continue
        fits = seen.st_size <= IGNORED_BYTES and total + seen.st_size <= IGNORED_TOTAL
        readable = stat.S_ISLNK(seen.st_mode) or os.access(os.path.join(root, path), os.R_OK)
        takes = not _no_git_takes(path, seen.st_mode)
        if fits and takes and readable and len(found.files) < IGNORED_FILES:
            total += seen.st_size
            found.files[path] = (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
        else:
            found.skipped += 1
    return found


def _walk(
    root: str, named: Iterable[str], left_alone: frozenset[str]
) -> Iterator[tuple[str, os.stat_result]]:
    """The files among the paths and below them, the shallow ones first."""
    level = [path for path in named if not MADE.intersection(path.split("/"))]
    looks = 0
    for _ in range(IGNORED_DEPTH):
        deeper: list[str] = []
        for path in level:
            looks += 1
            if looks > _LOOKS:
                return
            if _is_left(path, left_alone):
                continue
            whole = os.path.join(root, path.rstrip("/"))
            if path.endswith("/"):
                deeper.extend(_entries(whole, path))
                continue
            try:
                yield path, os.lstat(whole)
            except OSError:
                continue
        level = deeper


def _entries(whole: str, path: str) -> list[str]:
    """What is in a directory, directories with `/`; nothing of a repository of its own."""
    try:
        with os.scandir(whole) as scan:
            names = [
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry, _ in zip(scan, range(_LOOKS), strict=False)
            ]
    except OSError:
        return []
    if any(name == ".git" for name, _ in names):
        return []
    wanted = [(name, folder) for name, folder in names if name not in MADE]
    return [f"{path}{name}/" if folder else f"{path}{name}" for name, folder in wanted]


def left_out_text(large: Mapping[str, Mark]) -> str:
    """The left-out files as `read_left_out` reads them: size, time and path, then a NUL."""
    return "".join(f"{size} {time_ns} {path}\0" for path, (size, time_ns) in sorted(large.items()))


def read_left_out(text: str) -> dict[str, Mark]:
    """The other way. Raises ValueError."""
    found: dict[str, Mark] = {}
    for record in text.split("\0")[:-1]:
        size, time_ns, path = record.split(" ", 2)
        found[path] = (int(size), int(time_ns))
    return found
