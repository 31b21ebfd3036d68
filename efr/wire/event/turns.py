"""Events of conversations, prompts and turns (protocol: prompts and turns)."""

from __future__ import annotations

from efr.wire.errors import ErrorBody
from efr.wire.event.base import OfTurn, Recorded
from efr.wire.scalars import U32, CommandId, Path, Seq
from efr.wire.shared.connection import Origin
from efr.wire.shared.files import FileChanges, UndoSummary
from efr.wire.shared.prompts import StopInfo
from efr.wire.shared.scopes import AttachHow, RouteScope, Scope
from efr.wire.shared.settings import EffectiveSettings, TurnSettings
from efr.wire.shared.shells import ShellContext
from efr.wire.shared.tokens import ContextUse, Usage


class ConversationCreated(Recorded, frozen=True):
    """The first event of a conversation."""

    origin: Origin
    tty: str | None = None
    route: RouteScope | None = None


class ConversationDeleted(Recorded, frozen=True):
    """The last event of a conversation, and the only one that stays in the log."""

    origin: Origin


class TerminalAttached(Recorded, frozen=True, kw_only=True):
    """The conversation became that of a terminal's slot."""

    tty: str
    route: RouteScope
    shell_pid: U32 | None = None
    how: AttachHow


class PromptQueued(OfTurn, frozen=True):
    """A prompt came; it holds no command line of the user's shell."""

    command_id: CommandId
    text: str
    origin: Origin
    context: ShellContext | None = None
    settings: TurnSettings = TurnSettings()
    steers: tuple[Seq, ...] = ()  # the turn_steered events whose text it carries


class PromptWithdrawn(OfTurn, frozen=True):
    """The last event of a turn that never starts."""

    origin: Origin


class PromptHeld(OfTurn, frozen=True):
    """Only in logs of earlier daemons."""


class TurnStarted(OfTurn, frozen=True):
    """A turn runs."""

    cwd: Path
    scope: Scope
    settings: EffectiveSettings | None = None  # absent in old logs


class ScopeChanged(OfTurn, frozen=True, rename={"from_": "from"}):
    """A turn acts in another scope from here on."""

    from_: Scope
    to: Scope


class TurnSteered(OfTurn, frozen=True):
    """A text for the running turn came in time."""

    text: str


class SteeringDelivered(OfTurn, frozen=True):
    """A model call read these turn_steered events."""

    steers: tuple[Seq, ...]


class SteeringWithdrawn(OfTurn, frozen=True):
    """Steers that no model call read were taken back."""

    steers: tuple[Seq, ...]
    origin: Origin


class TurnInterruptRequested(OfTurn, frozen=True):
    """Somebody asked for an interrupt."""

    origin: Origin


class TurnInterrupted(OfTurn, frozen=True):
    """The turn stopped because somebody asked."""

    usage: Usage | None = None
    context: ContextUse | None = None
    changes: FileChanges | None = None
    undo: UndoSummary | None = None


class TurnCompleted(OfTurn, frozen=True):
    """The turn ended by itself."""

    usage: Usage | None = None
    context: ContextUse | None = None
    changes: FileChanges | None = None
    stop: StopInfo | None = None  # absent for a normal answer
    undo: UndoSummary | None = None


class TurnFailed(OfTurn, frozen=True):
    """The turn ended with an error."""

    error: ErrorBody
    usage: Usage | None = None
    context: ContextUse | None = None
    changes: FileChanges | None = None
    undo: UndoSummary | None = None


class TurnCancelled(OfTurn, frozen=True):
    """A restart ended the turn; without turn_started before it, the prompt never ran."""
