"""Writing several files so that all of them change or none.

First every new content is written beside its place; then each takes its place, and what it
replaces is kept beside it under another name. On a failure or an interrupt what was kept takes its
place again, in reverse: the very file that was there, with its content, mode, owner and times.
Directories that the call made are removed. Blocks on the file system; the conversation's worker.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from efr.base.cancel import Cancel
from efr.base.files import TEMPORARY_SUFFIX
from efr.policy.paths import normal
from efr.text.visible import visible_line
from efr.tools.text_files import (
    NO_HARD_LINKS,
    FileProblem,
    Identity,
    Original,
    changed,
    identity,
    identity_of,
    problems,
    refuse_read_only,
    sync,
    write_beside,
)
from efr.tools.walk import NEW_DIRECTORY, parent_of

STOPPED: Final = "The user stopped it. Nothing was changed."


class NotRestored(Exception):
    """A failure after which some files are not as they were. The message is for the model."""


@dataclass(frozen=True)
class Step:
    """One file: `content` takes its place, None takes it away.

    `original` is what stands there now, None: nothing may. `like` gives mode and owner.
    """

    path: str
    content: bytes | None
    original: Original | None
    like: Original | None = None


def write_all(steps: Sequence[Step], home: str, token: str, cancel: Cancel) -> None:
    """Does all steps, in their order. `token` is a name part that no other writer uses.

    Looks for an interrupt before each write. Raises FileProblem when every file is as it was,
    NotRestored when not.
    """
    work = _Work(steps, home, token)
    try:
        for write in (work.stage, work.commit):
            for number in range(len(steps)):
                if cancel.cancelled:
                    raise FileProblem(STOPPED)
                write(number)
    except BaseException as exc:
        left = work.undo()
        if left:
            raise NotRestored("\n".join((str(exc), *left))) from exc
        raise
    work.finish()


class _Work:
    """What was done so far, to be finished or undone."""

    def __init__(self, steps: Sequence[Step], home: str, token: str) -> None:
        self._steps = steps
        self._home = home
        self._token = token
        self._made: list[str] = []  # directories
        self._written: dict[int, Identity] = {}  # new contents, beside their places
        self._done: list[int] = []  # steps whose place has changed

    def stage(self, number: int) -> None:
        """Writes the new content beside its place; looks whether the old one may go."""
        step = self._steps[number]
        if step.content is not None and step.original is None:
            self._make_directories(step.path)
        with self._place(step.path) as (folder, name):
            if step.original is not None:
                refuse_read_only(folder, name, step.path)
            if step.content is not None:
                self._written[number] = write_beside(
                    folder, self._new(number), step.content, step.like, step.path
                )

    def commit(self, number: int) -> None:
        """Puts it in place. What was there is kept; a file that is not the original stays."""
        step = self._steps[number]
        with self._place(step.path) as (folder, name):
            if step.original is not None:
                self._keep(folder, name, number, step.original)
            self._done.append(number)
            if step.content is not None and step.original is not None:
                os.rename(self._new(number), name, src_dir_fd=folder, dst_dir_fd=folder)
            elif step.content is not None:
                self._put_new(folder, name, number)

    def finish(self) -> None:
        """Lets go of what was kept, and makes the renames survive a power loss."""
        synced: set[str] = set()
        for number, step in enumerate(self._steps):
            with contextlib.suppress(FileProblem), self._place(step.path) as (folder, _):
                self._unlink(folder, self._old(number))
                if os.path.dirname(step.path) not in synced:
                    synced.add(os.path.dirname(step.path))
                    sync(folder)

    def undo(self) -> list[str]:
        """Puts everything back. A line for each file that could not be."""
        left = []
        for number in reversed(self._done):
            try:
                self._restore(number)
            except FileProblem as exc:
                left.append(f"Not restored: {exc}")
        for number in self._written:
            path = self._steps[number].path
            with contextlib.suppress(FileProblem), self._place(path) as (folder, _):
                self._unlink(folder, self._new(number))
        for made in reversed(self._made):  # not when somebody put a file there
            with contextlib.suppress(FileProblem), self._place(made) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        return left

    # -- parts

    @contextlib.contextmanager
    def _place(self, path: str) -> Iterator[tuple[int, str]]:
        """(the directory, the name) of a path. Failures in the block are FileProblems."""
        with problems(path), parent_of(path, self._home) as place:
            yield place

    def _make_directories(self, path: str) -> None:
        missing = []
        folder = os.path.dirname(normal(path))
        while folder not in ("/", normal(self._home)) and not self._is_there(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            with self._place(folder) as (handle, name), contextlib.suppress(FileExistsError):
                os.mkdir(name, NEW_DIRECTORY, dir_fd=handle)  # else somebody made it meanwhile
                self._made.append(folder)

    def _is_there(self, path: str) -> bool:
        missing = contextlib.suppress(FileNotFoundError)
        with problems(path), missing, parent_of(path, self._home) as (folder, name):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            return True
        return False

    def _keep(self, folder: int, name: str, number: int, original: Original) -> None:
        """The original under a second name; for one that goes away, under that name alone."""
        step, kept = self._steps[number], self._old(number)
        if identity_of(folder, name) != identity(original.facts):
            raise changed(step.path)
        linked = step.content is not None and _link(folder, name, kept)
        if not linked:
            os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
        if identity_of(folder, kept) != identity(original.facts):  # swapped between look and link
            self._give_back(folder, kept, name, linked=linked)
            raise changed(step.path)

    def _give_back(self, folder: int, kept: str, name: str, *, linked: bool) -> None:
        if linked:
            self._unlink(folder, kept)
        else:
            os.rename(kept, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _put_new(self, folder: int, name: str, number: int) -> None:
        """A file in a free place; never over one that appeared meanwhile."""
        try:
            _move_to_free(folder, self._new(number), name)
        except FileExistsError as exc:
            self._done.remove(number)
            raise changed(self._steps[number].path) from exc

    def _restore(self, number: int) -> None:
        step = self._steps[number]
        kept = self._old(number)
        with self._place(step.path) as (folder, name):
            now = identity_of(folder, name)
            is_ours = now is not None and now == self._written.get(number)
            if step.original is None:
                if is_ours:
                    self._unlink(folder, name)
                elif now is not None:
                    raise FileProblem(f"{visible_line(step.path)} was changed by somebody else.")
            elif now is None:
                _move_to_free(folder, kept, name)
            elif now == identity(step.original.facts):
                self._unlink(folder, kept)
            elif is_ours:
                os.rename(kept, name, src_dir_fd=folder, dst_dir_fd=folder)
            else:
                shown = visible_line(f"{os.path.dirname(step.path)}/{kept}")
                raise FileProblem(
                    f"{visible_line(step.path)} was changed by somebody else; what it held before"
                    f" is in {shown}."
                )

    def _new(self, number: int) -> str:
        return f".{self._token}-{number}{TEMPORARY_SUFFIX}"

    def _old(self, number: int) -> str:
        return f".{self._token}-{number}.old{TEMPORARY_SUFFIX}"

    def _unlink(self, folder: int, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _link(folder: int, name: str, second: str) -> bool:
    """A second name for a file; False where the file system has no hard links."""
    try:
        os.link(name, second, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as exc:
        if exc.errno not in NO_HARD_LINKS:
            raise
        return False
    return True


def _move_to_free(folder: int, name: str, target: str) -> None:
    """A rename that never replaces. Raises FileExistsError."""
    if _link(folder, name, target):
        os.unlink(name, dir_fd=folder)
        return
    if identity_of(folder, target) is not None:
        raise FileExistsError
    os.rename(name, target, src_dir_fd=folder, dst_dir_fd=folder)
