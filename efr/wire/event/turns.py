"""Events of conversations, prompts and turns (protocol: prompts and turns)."""

from efr.wire.errors import ErrorBody
from efr.wire.event.base import OfTurn, Recorded
from efr.wire.scalars import U32, CommandId, Path, Seq
from efr.wire.shared.connection import Origin
from efr.wire.shared.ends import StopInfo, UndoSummary
from efr.wire.shared.files import FileChanges
from efr.wire.shared.places import ShellContext
from efr.wire.shared.scopes import AttachHow, RouteScope, Scope
from efr.wire.shared.settings import EffectiveSettings, TurnSettings
from efr.wire.shared.tokens import ContextUse, Usage


class ConversationCreated(Recorded, frozen=True):
    """A conversation began; this is its first event."""

    origin: Origin
    tty: str | None = None  # the terminal of its first prompt
    # of its first prompt; absent without a directory and in old logs
    route: RouteScope | None = None


class ConversationDeleted(Recorded, frozen=True):
    """The last event of a conversation, and the only one that stays in the log."""

    origin: Origin


class TerminalAttached(Recorded, frozen=True, kw_only=True):
    """The conversation became that of a terminal's slot."""

    tty: str
    route: RouteScope  # the slot
    shell_pid: U32 | None = None  # absent when unknown
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
    """A prompt was taken back; the last event of a turn that never starts."""

    origin: Origin


class PromptHeld(OfTurn, frozen=True):
    """A prompt waits for a confirmation; only in logs of earlier daemons."""


class TurnStarted(OfTurn, frozen=True):
    """The daemon began to work on a prompt."""

    cwd: Path  # where the turn acts
    scope: Scope
    settings: EffectiveSettings | None = None  # absent in old logs


class ScopeChanged(OfTurn, frozen=True, rename={"from_": "from"}):
    """The turn acts in another scope from here on."""

    from_: Scope
    to: Scope


class TurnSteered(OfTurn, frozen=True):
    """A text for the running turn came in time."""

    text: str


class SteeringDelivered(OfTurn, frozen=True):
    """A model call read steers."""

    steers: tuple[Seq, ...]  # numbers of the turn_steered events


class SteeringWithdrawn(OfTurn, frozen=True):
    """Steers that no model call read were taken back."""

    steers: tuple[Seq, ...]  # numbers of the turn_steered events
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
    context: ContextUse | None = None  # how full the context was at the end
    changes: FileChanges | None = None  # the turn's first snapshot against its last
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
    """The turn never ran, or a restart of the daemon ended it."""
