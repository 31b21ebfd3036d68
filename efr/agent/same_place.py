"""Other names of guarded files: hard links, second mounts, names that differ in case alone.

A path says where it leads once links are resolved; two names of one file or directory it does not
tell. The kernel does: by device and inode. Blocks on the file system; any thread. Not seen: a copy,
an overlay or a snapshot, which are files of their own, and hard links below a directory that is
read whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Final

from msgspec import Struct

_MOST_INSIDE: Final = 20_000  # files looked at below the closed places; more is nobody's keyring

_MOST_LINKS: Final = 40  # of one path, as in the kernel
_MOST_SCANNED: Final = 3000  # entries below a directory: some milliseconds

_Id = tuple[int, int]  # device and inode


class Guarded(Struct, frozen=True, dict=True):  # a dict for what is cached
    """Files and directories by what they are, and the directories above them."""

    places: dict[_Id, str]
    above: dict[_Id, str]
    closed: tuple[str, ...] = ()  # places with everything below them
    linked: tuple[tuple[str, str], ...] = ()  # where a closed place that is a link really lies

    @cached_property
    def inside(self) -> dict[_Id, str]:
        """Every file below the closed places; looked up only for a file of several names."""
        found = ((_id(path), path) for path in islice(self._files(), _MOST_INSIDE))
        return {one: path for one, path in found if one is not None}

    def _files(self) -> Iterator[str]:
        for place in self.closed:
            for folder, _, names in os.walk(place):
                yield from (os.path.join(folder, name) for name in names)

    def is_closed(self, facts: os.stat_result) -> bool:
        """Whether an open file is one of the closed ones under another name."""
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink < 2:
            return False
        found = (facts.st_dev, facts.st_ino)
        return found in self.inside or found in self.places


def guarded(paths: Iterable[str], closed: Iterable[str] = ()) -> Guarded:
    """What these paths are now: resolved ones, each with the files right in it, and closed ones."""
    places: dict[_Id, str] = {}
    above: dict[_Id, str] = {}
    paths, there = tuple(paths), tuple(path for path in closed if os.path.lexists(path))
    for path in (*paths, *there):
        for one in (path,) if path in there else (path, *_files_in(path)):
            found = _id(one)
            if found is not None:
                places.setdefault(found, one)
    for parent in {parent for path in (*paths, *there) for parent in _parents(path)}:
        found = _id(parent)
        if found is not None:
            above.setdefault(found, parent)
    linked = ((os.path.realpath(path), path) for path in there)
    return Guarded(places, above, there, tuple(one for one in linked if one[0] != one[1]))


def other_names(path: str, known: Guarded) -> Iterator[str]:
    """The guarded paths that a resolved path is too, or is below, or is above."""
    yield from dict.fromkeys(_other_names(path, known))


def _other_names(path: str, known: Guarded) -> Iterator[str]:
    for part in (path, *_parents(path)):
        found = _id(part)
        if found is None:
            continue  # nothing is there yet; what is above it may be guarded
        rest = path[len(part.rstrip("/")) :]
        if known.places.get(found, part) != part:
            yield known.places[found] + rest
        elif not rest and known.above.get(found, part) != part:
            yield known.above[found]
    if known.closed and _has_more_names(path) and (own := _id(path)) is not None:
        name = known.inside.get(own, path)
        if name != path:
            yield name


def process_entries(path: str) -> Iterator[str]:
    """Links of a process in `/proc` that a path runs through, such as `cwd`.

    They lead the process that opens the path, and not us, to its own places.
    """
    at, waiting, links = "/", _split(path), 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            at = os.path.dirname(at)
            continue
        at = os.path.join(at, part)
        try:
            target = os.readlink(at)
        except (OSError, ValueError):
            continue
        if at.startswith("/proc/") and at.count("/") > 2:
            yield at
        links += 1
        if links > _MOST_LINKS:
            return
        at = "/" if target.startswith("/") else os.path.dirname(at)
        waiting += _split(target)


class TooMany(Exception):
    """More lies below a directory than is looked at."""


def links_below(directory: str, levels: int | None) -> list[str]:
    """Where links lead that lie at most so many levels below a directory (None: at any).

    Only those that leave it. Raises TooMany.
    """
    found: dict[str, None] = {}
    waiting = [(directory, levels)]
    seen = 0
    while waiting:
        folder, left = waiting.pop()
        for entry in _entries(folder):
            seen += 1
            if seen > _MOST_SCANNED:
                raise TooMany
            if entry.is_symlink():
                found[os.path.realpath(entry.path)] = None
            elif left != 1 and entry.is_dir(follow_symlinks=False):
                waiting.append((entry.path, None if left is None else left - 1))
    inside = directory.rstrip("/") + "/"
    return [path for path in found if not f"{path}/".startswith(inside)]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(islice(entries, _MOST_SCANNED + 1))
    except OSError:
        return []


def _split(path: str) -> list[str]:
    """The parts of a path, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _has_more_names(path: str) -> bool:
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1


def _files_in(path: str) -> list[str]:
    try:
        return [entry.path for entry in os.scandir(path)]
    except OSError:
        return []


def _parents(path: str) -> Iterator[str]:
    while path != (parent := os.path.dirname(path)):
        path = parent
        yield path


def _id(path: str) -> _Id | None:
    """What is there. A device is none: a container may put one in the place of anything."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        return None
    return found.st_dev, found.st_ino
