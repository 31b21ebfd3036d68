"""Settings of the user that lie elsewhere: what links in the home lead to, as dotfile managers do.

A write there changes what the next shell or editor runs. Blocks on the file system.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Final

from efr.policy.paths import holds

_MOST_LINKS: Final = 500  # of the home and its config; nobody keeps more


def is_linked(real: str, home: str, project: str | None) -> bool:
    """Whether a link of the home leads to a resolved path or above it.

    One that leads to the whole project, or above it, does not count: the project was registered for
    what it is.
    """
    whole = None if project is None else os.path.realpath(project)
    for link in islice(_links(home), _MOST_LINKS):
        target = os.path.realpath(link)
        if holds(target, real) and (whole is None or not holds(target, whole)):
            return True
    return False


def _links(home: str) -> Iterator[str]:
    """Links among the dot entries, in `.config` two levels down, and in `.local/bin`."""
    yield from (entry.path for entry in _entries(home) if entry.name[0] == "." and _is_link(entry))
    for entry in (*_entries(f"{home}/.config"), *_entries(f"{home}/.local/bin")):
        if _is_link(entry):
            yield entry.path
        elif entry.is_dir(follow_symlinks=False):
            yield from (inner.path for inner in _entries(entry.path) if _is_link(inner))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []


def _is_link(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink()
    except OSError:
        return False
