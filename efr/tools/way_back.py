"""The way back of several writes: what stood in each place comes back, or is let go of.

What a write replaces is kept beside its place under a second name, made of a token that no other
writer uses. Used by the writer itself, and by the start after a stop in the middle. Blocks on the
file system.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from efr.base.files import TEMPORARY_SUFFIX
from efr.policy.paths import normal
from efr.text.visible import visible_line
from efr.tools.text_files import (
    NO_HARD_LINKS,
    FileProblem,
    Identity,
    changed,
    identity_of,
    problems,
    sync,
)
from efr.tools.walk import NEW_DIRECTORY, parent_of

NOT_RESTORED: Final = "Not restored: "


class Plan(Struct, frozen=True):
    """One write. `was` is what stood there, None: nothing; `puts`: a new content takes its place,
    else the file goes away."""

    path: str
    was: Identity | None
    puts: bool


class Folders:
    """The directories of the steps, held open: a way back that no rename of the user cuts off."""

    def __init__(
        self, home: str, opened: contextlib.ExitStack, making: Callable[[str], object]
    ) -> None:
        """`making` is told of each directory before it is made."""
        self._home = home
        self._opened = opened
        self._making = making
        self._held: dict[str, int] = {}
        self.made: list[str] = []

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
            self._making(folder)
            with problems(path), contextlib.suppress(FileExistsError):  # somebody made it meanwhile
                os.mkdir(name, NEW_DIRECTORY, dir_fd=handle)
                self.made.append(folder)

    def refuse_moved(self, path: str) -> None:
        """The path has to lead where it led, and through no link. Raises FileProblem."""
        with problems(path), parent_of(path, self._home) as (handle, _):
            now, held = os.fstat(handle), os.fstat(self.place(path)[0])
            if (now.st_dev, now.st_ino) != (held.st_dev, held.st_ino):
                raise changed(path)

    def unmake(self) -> None:
        """Removes what was made, except where somebody put a file."""
        for path in reversed(self.made):
            with contextlib.suppress(OSError, FileProblem):
                folder, name = self.place(path)
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


class WayBack:
    """What leads from any point of the writes to the files as they were."""

    def __init__(
        self, plans: Sequence[Plan], folders: Folders, token: str, written: Mapping[int, Identity]
    ) -> None:
        """`written` are the new contents, as they stood beside their places."""
        self._plans = plans
        self._folders = folders
        self._token = token
        self._written = written

    def new(self, number: int) -> str:
        """The name of the new content, until it takes its place."""
        return f".{self._token}-{number}{TEMPORARY_SUFFIX}"

    def old(self, number: int) -> str:
        """The second name of what stood in the place."""
        return f".{self._token}-{number}.old{TEMPORARY_SUFFIX}"

    def restore(self, done: Iterable[int]) -> list[str]:
        """Puts back what was done. A line for each file that could not be."""
        left = []
        for number in sorted(done, reverse=True):
            try:
                with problems(self._plans[number].path):
                    self._restore(number)
            except FileProblem as exc:
                left.append(f"{NOT_RESTORED}{exc}")
        for number in range(len(self._plans)):
            self._forget(number, self.new(number))
        self._folders.unmake()
        self._folders.sync()
        return left

    def let_go(self) -> None:
        """The writes stay: lets go of what was kept."""
        for number in range(len(self._plans)):
            self._forget(number, self.old(number))
            self._forget(number, self.new(number))
        self._folders.sync()

    def begun(self) -> list[int]:
        """The writes that a stop found begun, in their order. Raises nothing: what cannot be
        looked at counts, so that it is told."""
        return [number for number in range(len(self._plans)) if self._is_begun(number)]

    def stands(self, number: int) -> Identity | None:
        """What is in the place now. Raises FileProblem."""
        with problems(self._plans[number].path):
            folder, name = self._folders.place(self._plans[number].path)
            return identity_of(folder, name)

    # -- parts

    def _is_begun(self, number: int) -> bool:
        plan = self._plans[number]
        try:
            with problems(plan.path):
                folder, name = self._folders.place(plan.path)
                if plan.was is not None:
                    return identity_of(folder, self.old(number)) is not None
                return identity_of(folder, name) == self._written.get(number, ())
        except FileProblem:
            return os.path.lexists(os.path.dirname(plan.path))

    def _restore(self, number: int) -> None:
        plan, kept = self._plans[number], self.old(number)
        folder, name = self._folders.place(plan.path)
        now = identity_of(folder, name)
        is_ours = now is not None and now == self._written.get(number)
        if plan.was is None:
            if is_ours:
                unlink(folder, name)
            elif now is not None:
                raise FileProblem(f"{visible_line(plan.path)} was changed by somebody else.")
        elif now is None:
            move_to_free(folder, kept, name)
        elif now == plan.was:
            unlink(folder, kept)
        elif is_ours:
            os.rename(kept, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            shown = visible_line(f"{os.path.dirname(plan.path)}/{kept}")
            raise FileProblem(
                f"{visible_line(plan.path)} was changed by somebody else; what it held before is"
                f" in {shown}."
            )

    def _forget(self, number: int, name: str) -> None:
        """One name too many is no failure of the writes."""
        with contextlib.suppress(OSError, FileProblem):
            unlink(self._folders.place(self._plans[number].path)[0], name)


def unlink(folder: int, name: str) -> None:
    """Removes a name that may not be there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


def link(folder: int, name: str, second: str) -> bool:
    """A second name for a file; False where the file system has no hard links."""
    try:
        os.link(name, second, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as exc:
        if exc.errno not in NO_HARD_LINKS:
            raise
        return False
    return True


def move_to_free(folder: int, name: str, target: str) -> None:
    """A rename that never replaces. Raises FileExistsError."""
    if link(folder, name, target):
        os.unlink(name, dir_fd=folder)
        return
    if identity_of(folder, target) is not None:
        raise FileExistsError
    os.rename(name, target, src_dir_fd=folder, dst_dir_fd=folder)
