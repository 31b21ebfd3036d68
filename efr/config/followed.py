"""What to watch so that no change of a file is missed: the names that its path leads through.

A file may be a link, to another link, in a folder that is a link or that is not there yet. Each
step is a name in a directory; a change of any of them can change what the path leads to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_MOST_LINKS: Final = 40  # as many as Linux follows (path_resolution(7))


class Place(NamedTuple):
    """A name in a directory that exists; the directory's own path holds no link."""

    directory: str
    name: str


def places(path: Path) -> frozenset[Place]:
    """Every place of `path`. A missing directory counts as a name in its nearest parent."""
    return frozenset(_places(os.path.abspath(path)))


def fingerprint(paths: frozenset[Place]) -> dict[Place, object]:
    """What is at each place now; it differs after a change of a file, a link or a target."""
    return {place: _facts(place) for place in paths}


def _places(path: str) -> Iterator[Place]:
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        while not os.path.isdir(folder):
            folder, name = os.path.split(folder)
        yield from _links_to(folder)
        real = os.path.realpath(folder)
        yield Place(real, name)
        try:
            target = os.readlink(os.path.join(real, name))
        except OSError:
            return  # a file, or nothing yet
        path = os.path.join(real, target)


def _links_to(folder: str) -> Iterator[Place]:
    """The links whose target is the folder, when the folder itself is named by one."""
    for _ in range(_MOST_LINKS):
        if not os.path.islink(folder):
            return
        parent, name = os.path.split(folder)
        real = os.path.realpath(parent)
        yield Place(real, name)
        folder = os.path.join(real, os.readlink(folder))


def _facts(place: Place) -> object:
    try:
        facts = os.lstat(os.path.join(*place))
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_mode, facts.st_size, facts.st_mtime_ns
