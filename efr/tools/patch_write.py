"""Writing several files so that all of them change or none.

First every new content is written beside its place; then each takes its place, and what it
replaces is kept beside it under another name. On a failure or an interrupt what was kept takes its
place again, in reverse: the very file that was there, with its content, mode, owner and times.
Directories that the call made are removed. Blocks on the file system; the conversation's worker.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
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
    with contextlib.ExitStack() as opened:
        work = _Work(steps, _Folders(home, opened), token)
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


class _Folders:
    """The directories of the steps, held open: a way back that no rename of the user cuts off."""

    def __init__(self, home: str, opened: contextlib.ExitStack) -> None:
        self._home = home
        self._opened = opened
        self._held: dict[str, int] = {}
        self._made: list[str] = []

    def place(self, path: str) -> tuple[int, str]:
        """(the directory, the name) of a path. The first call walks there and holds it."""
        folder, name = os.path.split(normal(path))
        if folder not in self._held:
            with problems(path), parent_of(path, self._home) as (handle, _):
                self._hold(folder, handle)
        return self._held[folder], name

    def make(self, path: str) -> None:
        """Makes the missing directories above a path, and remembers which."""
        missing = []
        folder = os.path.dirname(normal(path))
        while folder not in ("/", normal(self._home)) and not self._is_there(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            handle, name = self.place(folder)
            with problems(path), contextlib.suppress(FileExistsError):  # somebody made it meanwhile
                os.mkdir(name, NEW_DIRECTORY, dir_fd=handle)
                self._made.append(folder)

    def refuse_moved(self, path: str) -> None:
        """The path has to lead where it led, and through no link. Raises FileProblem."""
        with problems(path), parent_of(path, self._home) as (handle, _):
            now, held = os.fstat(handle), os.fstat(self.place(path)[0])
            if (now.st_dev, now.st_ino) != (held.st_dev, held.st_ino):
                raise changed(path)

    def unmake(self) -> None:
        """Removes what was made, except where somebody put a file."""
        for path in reversed(self._made):
            folder, name = self.place(path)
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=folder)

    def sync(self) -> None:
        """Makes the renames survive a power loss."""
        for folder in self._held.values():
            with contextlib.suppress(OSError):
                sync(folder)

    def _hold(self, folder: str, handle: int) -> None:
        self._held[folder] = os.dup(handle)
        self._opened.callback(os.close, self._held[folder])

    def _is_there(self, path: str) -> bool:
        missing = contextlib.suppress(FileNotFoundError)
        with problems(path), missing, parent_of(path, self._home) as (folder, name):
            os.stat(name, dir_fd=folder, follow_symlinks=False)
            return True
        return False


class _Work:
    """What was done so far, to be finished or undone."""

    def __init__(self, steps: Sequence[Step], folders: _Folders, token: str) -> None:
        self._steps = steps
        self._folders = folders
        self._token = token
        self._written: dict[int, Identity] = {}  # new contents, beside their places
        self._done: list[int] = []  # steps whose place has changed

    def stage(self, number: int) -> None:
        """Writes the new content beside its place; looks whether the old one may go."""
        step = self._steps[number]
        if step.content is not None and step.original is None:
            self._folders.make(step.path)
        folder, name = self._folders.place(step.path)
        with problems(step.path):
            if step.original is not None:
                refuse_read_only(folder, name, step.path)
            if step.content is not None:
                self._written[number] = write_beside(
                    folder, self._new(number), step.content, step.like, step.path
                )

    def commit(self, number: int) -> None:
        """Puts it in place. What was there is kept; a file that is not the original stays."""
        step = self._steps[number]
        self._folders.refuse_moved(step.path)
        folder, name = self._folders.place(step.path)
        with problems(step.path):
            if step.original is not None:
                self._keep(folder, name, number, step.original)
            self._done.append(number)
            if step.content is not None and step.original is not None:
                os.rename(self._new(number), name, src_dir_fd=folder, dst_dir_fd=folder)
            elif step.content is not None:
                self._put_new(folder, name, number)

    def finish(self) -> None:
        """Lets go of what was kept."""
        for number, step in enumerate(self._steps):
            with contextlib.suppress(OSError):  # one name too many is no failure of the patch
                _unlink(self._folders.place(step.path)[0], self._old(number))
        self._folders.sync()

    def undo(self) -> list[str]:
        """Puts everything back. A line for each file that could not be."""
        left = []
        for number in reversed(self._done):
            try:
                with problems(self._steps[number].path):
                    self._restore(number)
            except FileProblem as exc:
                left.append(f"Not restored: {exc}")
        for number in self._written:
            with contextlib.suppress(OSError):
                _unlink(self._folders.place(self._steps[number].path)[0], self._new(number))
        self._folders.unmake()
        self._folders.sync()
        return left

    # -- parts

    def _keep(self, folder: int, name: str, number: int, original: Original) -> None:
        """The original under a second name; for one that goes away, under that name alone."""
        step, kept = self._steps[number], self._old(number)
        if identity_of(folder, name) != identity(original.facts):
            raise changed(step.path)
        linked = step.content is not None and _link(folder, name, kept)
        if not linked:
            os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
        if identity_of(folder, kept) != identity(original.facts):  # swapped between look and link
            if linked:
                _unlink(folder, kept)
            else:
                _move_to_free(folder, kept, name)
            raise changed(step.path)

    def _put_new(self, folder: int, name: str, number: int) -> None:
        """A file in a free place; never over one that appeared meanwhile."""
        try:
            _move_to_free(folder, self._new(number), name)
        except FileExistsError as exc:
            self._done.remove(number)
            raise changed(self._steps[number].path) from exc

    def _restore(self, number: int) -> None:
        step, kept = self._steps[number], self._old(number)
        folder, name = self._folders.place(step.path)
        now = identity_of(folder, name)
        is_ours = now is not None and now == self._written.get(number)
        if step.original is None:
            if is_ours:
                _unlink(folder, name)
            elif now is not None:
                raise FileProblem(f"{visible_line(step.path)} was changed by somebody else.")
        elif now is None:
            _move_to_free(folder, kept, name)
        elif now == identity(step.original.facts):
            _unlink(folder, kept)
        elif is_ours:
            os.rename(kept, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            shown = visible_line(f"{os.path.dirname(step.path)}/{kept}")
            raise FileProblem(
                f"{visible_line(step.path)} was changed by somebody else; what it held before is"
                f" in {shown}."
            )

    def _new(self, number: int) -> str:
        return f".{self._token}-{number}{TEMPORARY_SUFFIX}"

    def _old(self, number: int) -> str:
        return f".{self._token}-{number}.old{TEMPORARY_SUFFIX}"


def _unlink(folder: int, name: str) -> None:
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
