"""What a prompt asks for and what a turn runs with (protocol: settings)."""

from enum import StrEnum

from efr.wire.scalars import Wire


class Mode(StrEnum):
    """How much a turn may do without asking, from the strictest to the loosest."""

    MANUAL = "manual"  # asks before every call that no rule of the user's allows
    CAUTIOUS = "cautious"  # reads run; writes outside the turn's project and most commands ask
    AUTO = "auto"  # shell lines run in a sandbox; what leaves it is judged on its own
    FULL = "full"  # everything runs as the user; a few floors stay


class TurnSettings(Wire, frozen=True):
    """What a prompt asks for."""

    mode: Mode | None = None
    model: str | None = None
    effort: str | None = None  # how long the model thinks; a plain word


class Overridden(Wire, frozen=True):
    """Which values of a turn came from its prompt."""

    mode: bool = False
    model: bool = False
    effort: bool = False


class ModeFallback(Wire, frozen=True):
    """Why the mode is stricter than asked."""

    asked: Mode
    reason: str  # one sentence


class EffectiveSettings(Wire, frozen=True):
    """What a turn runs with."""

    mode: Mode
    model: str
    effort: str | None = None  # absent: none is sent
    overridden: Overridden = Overridden()  # which values came from the prompt
    fallback: ModeFallback | None = None  # why the mode is stricter than asked
