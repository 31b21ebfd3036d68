"""Other names of guarded files: hard links, second mounts, names that differ in case alone.

A path says where it leads once links are resolved; two names of one file or directory it does not
tell. The kernel does: by device and inode. Blocks on the file system; any thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_Id = tuple[int, int]  # device and inode


@dataclass(frozen=True)
class Guarded:
    """Files and directories by what they are, and the directories above them."""

    places: dict[_Id, str]
    above: dict[_Id, str]


def guarded(paths: Iterable[str]) -> Guarded:
    """What these paths are now: resolved ones, each with the files right in it."""
    places: dict[_Id, str] = {}
    above: dict[_Id, str] = {}
    for path in paths:
        for one in (path, *_files_in(path)):
            found = _id(one)
            if found is not None:
                places.setdefault(found, one)
        for parent in _parents(path):
            found = _id(parent)
            if found is not None:
                above.setdefault(found, parent)
    return Guarded(places, above)


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
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino
