"""The undo of a turn and its refusal (protocol: undo)."""

from enum import StrEnum
from typing import TypeAlias

from efr.wire.scalars import U32, Path, Tagged, Time, TurnId, Wire


class UndoAction(StrEnum):
    """What an undo does with one path. Open."""

    RESTORE = "restore"  # write the file as it was
    TRASH = "trash"  # move the file to the trash
    DELETE = "delete"  # delete the file
    SKIP = "skip"  # leave it alone
    NOT_COVERED = "not_covered"  # no snapshot holds it
    COMMAND = "command"  # a command that efr cannot undo
    UNKNOWN = "unknown"


class UndoReason(StrEnum):
    """Why an undo leaves a path alone. Open."""

    CHANGED = "changed"  # it changed since the turn
    MISSING = "missing"  # it is gone
    EXISTS = "exists"  # something is there now
    IGNORED = "ignored"  # git ignores it
    TOO_LARGE = "too_large"  # snapshots leave out files of its size
    NOT_A_FILE = "not_a_file"  # a device, a socket or such
    OUTSIDE = "outside"  # it is outside every project
    NO_BACKUP = "no_backup"  # nothing holds its old content
    PERMISSION = "permission"  # the system refused
    IO = "io"  # reading or writing failed
    REF_MOVED = "ref_moved"  # the git ref moved since
    UNKNOWN = "unknown"


class UndoEntry(Wire, frozen=True):
    """One line of an undo; for the action `command` the path is the command line."""

    action: UndoAction
    path: str
    reason: UndoReason | None = None


class UndoRef(Wire, frozen=True, rename={"from_": "from"}):
    """One git ref of an undo; `from_` and `to` are commit hashes."""

    root: Path
    name: str
    from_: str | None = None
    to: str | None = None
    applied: bool = False
    reason: UndoReason | None = None


class UndoTurn(Wire, frozen=True):
    """A turn in the list of those that can be undone."""

    turn_id: TurnId
    title: str | None = None
    auto: bool = False  # it ran in auto or full mode
    undone: bool = False  # it was undone already
    stopped: bool = False  # its undo stopped half way
    ended: Time | None = None
    full: bool = False  # then `auto` is true too


class SnapshotPhase(StrEnum):
    """Which side of a turn a snapshot shows. Open."""

    PRE = "pre"  # before
    POST = "post"  # after
    UNKNOWN = "unknown"


class UndoRefusalOff(Tagged, frozen=True, tag="off"):
    """Undo is off."""


class UndoRefusalNoTurn(Tagged, frozen=True, tag="no_turn"):
    """There is nothing to undo."""


class UndoRefusalTurnRunning(Tagged, frozen=True, tag="turn_running"):
    """A turn runs."""

    turn_id: TurnId


class UndoRefusalUndoRunning(Tagged, frozen=True, tag="undo_running"):
    """Another undo runs."""


class UndoRefusalNotCovered(Tagged, frozen=True, tag="not_covered"):
    """The turn took no snapshot."""


class UndoRefusalAlreadyUndone(Tagged, frozen=True, tag="already_undone"):
    """It needs `redo`."""


class UndoRefusalNotUndone(Tagged, frozen=True, tag="not_undone"):
    """A redo of a turn that was not undone."""


class UndoRefusalConflicts(Tagged, frozen=True, tag="conflicts"):
    """Every file of the turn changed since; it needs `force`."""

    paths: tuple[str, ...]
    more: U32 = 0  # left out of `paths`


class UndoRefusalUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


UndoRefusal: TypeAlias = (
    UndoRefusalOff
    | UndoRefusalNoTurn
    | UndoRefusalTurnRunning
    | UndoRefusalUndoRunning
    | UndoRefusalNotCovered
    | UndoRefusalAlreadyUndone
    | UndoRefusalNotUndone
    | UndoRefusalConflicts
    | UndoRefusalUnknown
)
