"""What a prompt asks for and what a turn runs with (protocol: settings)."""

from __future__ import annotations

from enum import StrEnum

from efr.wire.scalars import Wire


class Mode(StrEnum):
    """How much a turn may do without asking, from the strictest to the loosest."""

    MANUAL = "manual"
    CAUTIOUS = "cautious"
    AUTO = "auto"
    FULL = "full"


class FullRefusal(StrEnum):
    """Why full mode is refused although the config allows it. Open."""

    ROOT = "root"
    SNAPSHOT_OFF = "snapshot_off"
    UNDO_OFF = "undo_off"
    NO_ZSH = "no_zsh"
    UNKNOWN = "unknown"


class TurnSettings(Wire, frozen=True):
    """What a prompt asks for."""

    mode: Mode | None = None
    model: str | None = None
    effort: str | None = None


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
    overridden: Overridden = Overridden()
    fallback: ModeFallback | None = None
