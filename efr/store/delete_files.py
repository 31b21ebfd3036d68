"""The files of a deleted conversation: which they are, and their removal.

Everything is named by an id in its path, but for `$SCRATCH`: that is matched by the marker in it,
never by its name alone, and the marker goes last, so a stop in between leaves it findable. What
cannot be removed is returned, and the next start tries again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from efr.base.roots import Roots
from efr.store.trees import remove_tree

_MARKER_LIMIT: Final = 64  # bytes: an id and a newline
_TAIL: Final = 8  # hex digits of the id that end the name of a $SCRATCH


class Places(Struct, frozen=True):
    """Where a conversation may have files."""

    recordings: Path  # <pty id>/
    scratch: Path  # any name, with a marker
    marker: str
    by_conversation: tuple[Path, ...]  # <conversation id>/
    undo_trash: Path  # <undo id>/


def places_of(roots: Roots, marker: str) -> Places:
    """The places below the roots. `marker` is the name of the file that marks a $SCRATCH."""
    data = roots.data.path
    return Places(
        recordings=roots.recordings,
        scratch=roots.scratch,
        marker=marker,
        by_conversation=(
            roots.state.path / "sandbox",
            roots.runtime.path / "sbx",
            data / "file-backups",
        ),
        undo_trash=data / "undo-trash",
    )


def remove_files(
    places: Places, conversation_id: str, ptys: Sequence[str], undos: Sequence[str]
) -> list[Path]:
    """Removes all of it; returns what is left. Blocks on the file system."""
    left: list[Path] = []
    for pty_id in ptys:
        left += remove_tree(places.recordings / pty_id)
    for folder in scratch_folders(places, conversation_id):
        left += remove_tree(folder, last=places.marker)
    for parent in places.by_conversation:
        left += remove_tree(parent / conversation_id)
    for undo_id in undos:
        left += remove_tree(places.undo_trash / undo_id)
    return left


def scratch_folders(places: Places, conversation_id: str) -> Iterator[Path]:
    """The directories whose marker names the conversation. An empty one that has its name and no
    marker any more (a stop between the two) is removed on the way."""
    tail = conversation_id.replace("-", "")[-_TAIL:]
    for folder in _folders(places.scratch):
        owner = _marked(folder / places.marker)
        if owner == conversation_id:
            yield folder
        elif owner is None and tail in folder.name:
            with suppress(OSError):  # rmdir takes an empty directory alone
                folder.rmdir()


def _folders(parent: Path) -> list[Path]:
    try:
        with os.scandir(parent) as entries:
            return sorted(Path(e.path) for e in entries if e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _marked(marker: Path) -> str | None:
    """The id in a marker; None when there is no marker that can be read."""
    try:
        handle = os.open(marker, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        try:
            return file.read(_MARKER_LIMIT).decode("ascii", "replace").strip()
        except OSError:
            return None
