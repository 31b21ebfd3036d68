"""The write journal: which files a call is writing, for the start after a stop in the middle.

One file for each call that writes, from before its first write until after its last. It names the
places and what stood there, never a content: what is replaced is kept beside its place. A start
puts back what is half done and says so in the place of the result that never came.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec import Struct, field

from efr.base.files import make_private_dir, sync_dir
from efr.text.visible import visible_line
from efr.tools.text_files import FileProblem, Identity
from efr.tools.way_back import Folders, Plan, WayBack

log = logging.getLogger("efr.tools")

_SUFFIX: Final = ".json"
_STOP: Final = "efr's daemon stopped while this call wrote its files."
PUT_BACK: Final = f"{_STOP} Nothing was changed: every file is as it was before the call."
WRITTEN: Final = f"{_STOP} All of them were written, and the changes are there."
HALF: Final = f"{_STOP} What it had changed was put back, except:"


class Entry(Protocol):
    """One call in the journal. Every method raises FileProblem when it cannot be written down."""

    def making(self, folder: str) -> None:
        """A directory is about to be made."""
        ...

    def written(self, number: int, new: Identity) -> None:
        """A new content is beside its place."""
        ...

    def sync(self) -> None:
        """What was told survives a power loss."""
        ...

    def done(self) -> None:
        """Every file is in its place: from here on nothing is put back."""
        ...


class WriteJournal:
    """The journal of one daemon. Any thread; each call has a file of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recovered: list[Path] = []

    @contextlib.contextmanager
    def open(self, call_id: str, plans: Sequence[Plan]) -> Iterator[Entry]:
        """The entry of a call, as long as it writes. Raises FileProblem."""
        path = self._folder / f"{call_id}{_SUFFIX}"
        with _problems():
            make_private_dir(self._folder)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            entry = _File(handle, self._folder, alone=_is_whole_by_itself(plans))
            entry.tell("plans", [[one.path, one.was, one.puts] for one in plans])
            yield entry
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(handle)

    def recover(self, home: str) -> dict[str, str]:
        """Puts in order what a stop left; what the model is told, by call. Doing it again changes
        nothing. Runs before any call; blocks; a fault is a line in the log."""
        told: dict[str, str] = {}
        paths = sorted(self._folder.glob(f"*{_SUFFIX}"))
        for path in paths:
            try:
                record = _read(path)
                text = _put_in_order(path.stem, record, home)
            except (OSError, ValueError, LookupError, TypeError, FileProblem) as exc:
                log.warning("the write journal %s is not read: %s", path, exc)
                text = None
            if text is not None:
                log.warning("the call %s: %s", path.stem, visible_line(text))
                told[path.stem] = text
        self._recovered = paths  # of a recovery that nobody waited for, none is forgotten
        return told

    def clear(self) -> None:
        """Forgets what was recovered, once it is recorded."""
        for path in self._recovered:
            with contextlib.suppress(OSError):
                path.unlink()
        self._recovered.clear()


@contextlib.contextmanager
def no_entry() -> Iterator[Entry]:
    """An entry that nobody reads."""
    yield _Silent()


class _Silent:
    def making(self, folder: str) -> None:
        return

    def written(self, number: int, new: Identity) -> None:
        return

    def sync(self) -> None:
        return

    def done(self) -> None:
        return


class _File:
    """An entry as a file: one line for each thing told."""

    def __init__(self, handle: int, folder: Path, *, alone: bool) -> None:
        """`alone`: a power loss takes nothing that matters, so there is no wait for the disk."""
        self._handle = handle
        self._folder = folder
        self._alone = alone

    def making(self, folder: str) -> None:
        self.tell("making", folder)

    def written(self, number: int, new: Identity) -> None:
        self.tell("written", [number, new])

    def sync(self) -> None:
        if not self._alone:
            with _problems():
                os.fsync(self._handle)
                sync_dir(self._folder)

    def done(self) -> None:
        self.tell("done", True)
        if not self._alone:
            with _problems():
                os.fsync(self._handle)

    def tell(self, word: str, value: object) -> None:
        line = json.dumps([word, value]).encode() + b"\n"  # a name that is no text stays itself
        with _problems():
            while line:
                line = line[os.write(self._handle, line) :]


@contextlib.contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise FileProblem(
            f"The write journal cannot be written ({exc.strerror or exc}), so nothing was written."
        ) from exc


# After a stop -----------------------------------------------------------------------------------


class _Record(Struct):
    """What an entry tells."""

    plans: list[Plan] = field(default_factory=list)
    making: list[str] = field(default_factory=list)
    written: dict[int, Identity] = field(default_factory=dict)
    done: bool = False


def _read(path: Path) -> _Record:
    """Raises OSError, ValueError, LookupError, TypeError. A last line that is cut was not told."""
    record = _Record()
    take: Mapping[str, Callable[[Any], object]] = {
        "plans": lambda rows: record.plans.extend(
            Plan(str(row[0]), None if row[1] is None else tuple(row[1]), bool(row[2]))
            for row in rows
        ),
        "making": record.making.append,
        "written": lambda row: record.written.update({int(row[0]): tuple(row[1])}),
        "done": lambda _: setattr(record, "done", True),
    }
    for line in path.read_bytes().split(b"\n")[:-1]:
        word, value = json.loads(line)
        take[word](value)
    return record


def _put_in_order(call_id: str, record: _Record, home: str) -> str | None:
    """What is said of it; None: that nobody knows what became of the call."""
    with contextlib.ExitStack() as opened:
        folders = Folders(home, opened, lambda folder: None)
        folders.made = record.making
        plans = [_of_today(plan, folders) for plan in record.plans]
        written = {
            number: _on_device(new, plans[number].path, folders)
            for number, new in record.written.items()
        }
        back = WayBack(plans, folders, call_id, written)
        if record.done:
            back.let_go()
            return WRITTEN
        if _is_whole_by_itself(plans) and (now := back.stands(0)) is not None:
            return _one(back, plans[0], now, written.get(0))
        left = back.restore(back.begun())
    return "\n".join((HALF, *left)) if left else PUT_BACK


def _is_whole_by_itself(plans: Sequence[Plan]) -> bool:
    """One file that gets a content is the old one or the new one, whatever happens."""
    return len(plans) == 1 and plans[0].puts


def _one(back: WayBack, plan: Plan, now: Identity, new: Identity | None) -> str | None:
    """It stays as it is; what is said of it."""
    back.let_go()
    if now == plan.was:
        return PUT_BACK
    return WRITTEN if now == new else None


def _of_today(plan: Plan, folders: Folders) -> Plan:
    if plan.was is None:
        return plan
    return Plan(plan.path, _on_device(plan.was, plan.path, folders), plan.puts)


def _on_device(known: Identity, path: str, folders: Folders) -> Identity:
    """The same file on the device as it is numbered now: a reboot may number it anew."""
    try:
        return (os.fstat(folders.place(path)[0]).st_dev, *known[1:])
    except (OSError, FileProblem):
        return known
