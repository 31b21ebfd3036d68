"""Writing several files so that all of them change or none.

First every new content is written beside its place; then each takes its place, and what it
replaces is kept beside it under another name. On a failure or an interrupt what was kept takes its
place again, in reverse: the very file that was there, with its content, mode, owner and times.
Directories that the call made are removed. The journal knows each step before it is done, for the
start after a stop in the middle. Blocks on the file system; the conversation's worker.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from efr.base.cancel import Cancel
from efr.tools.text_files import (
    FileProblem,
    Identity,
    Original,
    changed,
    identity,
    identity_of,
    problems,
    refuse_read_only,
    replace,
    write_beside,
)
from efr.tools.way_back import Folders, Plan, WayBack, link, move_to_free, unlink
from efr.tools.write_journal import Entry, WriteJournal, no_entry

STOPPED: Final = "The user stopped it. Nothing was changed."


class NotRestored(Exception):
    """A failure after which some files are not as they were. The message is for the model."""


class Step(Struct, frozen=True):
    """One file: `content` takes its place, None takes it away.

    `original` is what stands there now, None: nothing may. `like` gives mode and owner.
    """

    path: str
    content: bytes | None
    original: Original | None
    like: Original | None = None

    @property
    def plan(self) -> Plan:
        """What the journal and the way back know of it."""
        was = None if self.original is None else identity(self.original.facts)
        return Plan(self.path, was, self.content is not None)


def write_all(
    steps: Sequence[Step], home: str, token: str, cancel: Cancel, journal: WriteJournal | None
) -> None:
    """Does all steps, in their order. `token` is a name part that no other writer uses; it names
    the entry of the journal.

    Looks for an interrupt before each write. Raises FileProblem when every file is as it was,
    NotRestored when not.
    """
    plans = [step.plan for step in steps]
    with contextlib.ExitStack() as opened:
        entry = opened.enter_context(journal.open(token, plans) if journal else no_entry())
        work = _Work(steps, Folders(home, opened, entry.making), token, entry)
        try:
            for number in range(len(steps)):
                _refuse_stopped(cancel)
                work.stage(number)
            entry.sync()
            for number in range(len(steps)):
                _refuse_stopped(cancel)
                work.commit(number)
            entry.done()
        except BaseException as exc:
            left = work.undo()
            if left:
                raise NotRestored("\n".join((str(exc), *left))) from exc
            raise
        work.finish()


def write_one(step: Step, home: str, token: str, journal: WriteJournal | None) -> None:
    """Puts the content of one file in place, whole or not at all. Raises FileProblem."""
    assert step.content is not None  # it is no delete
    with journal.open(token, [step.plan]) if journal else no_entry() as entry:
        told = partial(entry.written, 0)
        replace(step.path, home, step.content, step.original, f"{token}-0", told)


def _refuse_stopped(cancel: Cancel) -> None:
    if cancel.cancelled:
        raise FileProblem(STOPPED)


class _Work:
    """What was done so far, to be finished or undone."""

    def __init__(self, steps: Sequence[Step], folders: Folders, token: str, entry: Entry) -> None:
        self._steps = steps
        self._folders = folders
        self._entry = entry
        self._written: dict[int, Identity] = {}  # new contents, beside their places
        self._done: list[int] = []  # steps whose place has changed
        self._back = WayBack([step.plan for step in steps], folders, token, self._written)

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
                    folder, self._back.new(number), step.content, step.like, step.path
                )
                self._entry.written(number, self._written[number])

    def commit(self, number: int) -> None:
        """Puts it in place. What was there is kept; a file that is not the original stays."""
        step, new = self._steps[number], self._back.new(number)
        self._folders.refuse_moved(step.path)
        folder, name = self._folders.place(step.path)
        with problems(step.path):
            if step.original is not None:
                self._keep(folder, name, number, step.original)
            self._done.append(number)
            if step.content is not None and step.original is not None:
                os.rename(new, name, src_dir_fd=folder, dst_dir_fd=folder)
            elif step.content is not None:
                self._put_new(folder, name, number)

    def finish(self) -> None:
        """Lets go of what was kept."""
        self._back.let_go()

    def undo(self) -> list[str]:
        """Puts everything back. A line for each file that could not be."""
        return self._back.restore(self._done)

    # -- parts

    def _keep(self, folder: int, name: str, number: int, original: Original) -> None:
        """The original under a second name; for one that goes away, under that name alone."""
        step, kept = self._steps[number], self._back.old(number)
        if identity_of(folder, name) != identity(original.facts):
            raise changed(step.path)
        linked = step.content is not None and link(folder, name, kept)
        if not linked:
            os.rename(name, kept, src_dir_fd=folder, dst_dir_fd=folder)
        if identity_of(folder, kept) != identity(original.facts):  # swapped between look and link
            if linked:
                unlink(folder, kept)
            else:
                move_to_free(folder, kept, name)
            raise changed(step.path)

    def _put_new(self, folder: int, name: str, number: int) -> None:
        """A file in a free place; never over one that appeared meanwhile."""
        try:
            move_to_free(folder, self._back.new(number), name)
        except FileExistsError as exc:
            self._done.remove(number)
            raise changed(self._steps[number].path) from exc
