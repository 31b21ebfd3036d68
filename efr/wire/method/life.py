"""Methods that compact, move and delete a conversation, and undo a turn (methods 11 to 13, 18)."""

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
from efr.wire.shared.compaction import Compaction
from efr.wire.shared.places import ShellContext
from efr.wire.shared.scopes import Place
from efr.wire.shared.undo import UndoEntry, UndoRef, UndoTurn


class ConversationCompactParams(Params, frozen=True):
    """Compact a conversation now; that starts no turn."""

    command_id: CommandId
    conversation_id: ConversationId
    focus: str | None = None  # what the summary must keep


class ConversationCompactResult(Wire, frozen=True):
    """The compaction as it was recorded."""

    seq: Seq  # of conversation_compacted
    compaction: Compaction


class ConversationResumeParams(Params, frozen=True):
    """Make a conversation that of a terminal's slot."""

    command_id: CommandId
    conversation_id: ConversationId
    context: ShellContext  # of the terminal that resumes
    take: bool = False  # even when another open terminal holds it


class ConversationResumed(Tagged, frozen=True, kw_only=True, tag="resumed"):
    """The terminal holds it; `terminal_attached` was recorded."""

    conversation_id: ConversationId
    scope: Place  # where it acts
    title: str | None = None
    updated_at: Time
    shell_dir: Path | None = None  # where its hidden shell is
    here: bool = False  # the terminal held it already
    continues_here: bool = False  # a prompt from the terminal's directory continues it


class ConversationResumeHeld(Tagged, frozen=True, tag="held"):
    """Another open terminal holds it and `take` was not set; nothing moved."""

    tty: str
    title: str | None = None


class ConversationResumeUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


ConversationResumeResult: TypeAlias = (
    ConversationResumed | ConversationResumeHeld | ConversationResumeUnknown
)


class ConversationDeleteParams(Params, frozen=True):
    """Delete a conversation with everything that belongs to it."""

    command_id: CommandId
    conversation_id: ConversationId
    force: bool = False  # also when another open terminal holds it
    stop: bool = False  # stop what runs first


class ConversationDeleted(Tagged, frozen=True, tag="deleted"):
    """It is gone."""

    conversation_id: ConversationId
    title: str | None = None
    jobs_stopped: U32 = 0  # jobs that had to be stopped
    not_removed: tuple[Path, ...] = ()  # files that still hold something of it


class ConversationDeleteHeld(Tagged, frozen=True, tag="held"):
    """Another open terminal holds it and `force` was not set; nothing happened."""

    tty: str
    title: str | None = None


class ConversationDeleteUnknown(Tagged, frozen=True, tag="unknown"):
    """A kind of a newer version."""


ConversationDeleteResult: TypeAlias = (
    ConversationDeleted | ConversationDeleteHeld | ConversationDeleteUnknown
)


class TurnUndoParams(Params, frozen=True):
    """Take back what a turn changed in files, or make it again."""

    command_id: CommandId
    conversation_id: ConversationId | None = None
    turn_id: TurnId | None = None  # absent: the newest that can be undone
    dry_run: bool = False  # say what would be done; change nothing
    force: bool = False  # also files that changed since
    redo: bool = False  # make an undone turn's changes again
    list: bool = False  # only list the turns that can be undone


class TurnUndoResult(Wire, frozen=True):
    """What the undo did, or would do."""

    conversation_id: ConversationId
    turn_id: TurnId | None = None
    title: str | None = None
    undo_id: UndoId | None = None
    trash: Path | None = None  # where removed files went
    applied: bool = False  # files were changed
    stopped: bool = False  # a write failed after files were changed
    resumed: bool = False  # it finished an earlier stopped undo
    entries: tuple[UndoEntry, ...] = ()
    entries_more: U32 = 0  # left out of `entries`
    refs: tuple[UndoRef, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the user
    turns: tuple[UndoTurn, ...] = ()  # only with `list`
