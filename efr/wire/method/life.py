"""Methods that compact, move and delete a conversation, and undo a turn (methods 11 to 13, 18)."""

from __future__ import annotations

from typing import TypeAlias

from efr.wire.scalars import (
    U32,
    CommandId,
    ConversationId,
    Params,
    Path,
    Seq,
    Tagged,
    Time,
    TurnId,
    UndoId,
    Wire,
)
from efr.wire.shared.files import UndoEntry, UndoRef, UndoTurn
from efr.wire.shared.scopes import Place
from efr.wire.shared.shells import ShellContext
from efr.wire.shared.tokens import Compaction


class ConversationCompactParams(Params, frozen=True):
    """Compact a conversation now."""

    command_id: CommandId
    conversation_id: ConversationId
    focus: str | None = None  # what the summary must keep


class ConversationCompactResult(Wire, frozen=True):
    """The compaction as recorded."""

    seq: Seq  # of conversation_compacted
    compaction: Compaction


class ConversationResumeParams(Params, frozen=True):
    """Make a conversation that of a terminal."""

    command_id: CommandId
    conversation_id: ConversationId
    context: ShellContext  # of the terminal that resumes
    take: bool = False  # even when another open terminal holds it


class ConversationResumed(Tagged, frozen=True, kw_only=True, tag="resumed"):
    """The terminal holds it."""

    conversation_id: ConversationId
    scope: Place
    title: str | None = None
    updated_at: Time
    shell_dir: Path | None = None
    here: bool = False  # the terminal held it already
    continues_here: bool = False  # a prompt from the terminal's directory continues it


class ConversationResumeHeld(Tagged, frozen=True, tag="held"):
    """Another terminal holds it; nothing moved."""

    tty: str
    title: str | None = None


class ConversationResumeUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


ConversationResumeResult: TypeAlias = (
    ConversationResumed | ConversationResumeHeld | ConversationResumeUnknown
)


class ConversationDeleteParams(Params, frozen=True):
    """Delete a conversation."""

    command_id: CommandId
    conversation_id: ConversationId
    force: bool = False  # also when another open terminal holds it
    stop: bool = False  # stop what runs first


class ConversationDeleted(Tagged, frozen=True, tag="deleted"):
    """It is gone."""

    conversation_id: ConversationId
    title: str | None = None
    jobs_stopped: U32 = 0
    not_removed: tuple[Path, ...] = ()


class ConversationDeleteHeld(Tagged, frozen=True, tag="held"):
    """Another terminal holds it; nothing happened."""

    tty: str
    title: str | None = None


class ConversationDeleteUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


ConversationDeleteResult: TypeAlias = (
    ConversationDeleted | ConversationDeleteHeld | ConversationDeleteUnknown
)


class TurnUndoParams(Params, frozen=True):
    """Take a turn's changes back."""

    command_id: CommandId
    conversation_id: ConversationId | None = None
    turn_id: TurnId | None = None  # absent: the newest that can be undone
    dry_run: bool = False
    force: bool = False
    redo: bool = False
    list: bool = False


class TurnUndoResult(Wire, frozen=True):
    """What the undo did, or would do."""

    conversation_id: ConversationId
    turn_id: TurnId | None = None
    title: str | None = None
    undo_id: UndoId | None = None
    trash: Path | None = None  # where removed files went
    applied: bool = False
    stopped: bool = False  # a write failed after files were changed
    resumed: bool = False  # it finished an earlier stopped undo
    entries: tuple[UndoEntry, ...] = ()
    entries_more: U32 = 0
    refs: tuple[UndoRef, ...] = ()
    notes: tuple[str, ...] = ()
    turns: tuple[UndoTurn, ...] = ()
