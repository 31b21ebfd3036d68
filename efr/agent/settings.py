"""What a turn runs with: mode, model and effort, from the prompt's wishes and the config.

Resolved twice: when the prompt comes (a refusal records nothing) and when its turn starts (the
turn fails). The registry of providers says which model and effort; the mode is decided here, in
the order of the permissions document: remote, full refused, auto without a sandbox. Pure but for
the look at the provider's list in memory.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from efr.config.schema import Settings
from efr.providers.canonical import ModelFacts
from efr.providers.model_list import Resolved as Chosen
from efr.providers.provider import Provider
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse

STRICTNESS = (t.Mode.MANUAL, t.Mode.CAUTIOUS, t.Mode.AUTO, t.Mode.FULL)  # strictest first


class ModeLimits(Struct, frozen=True):
    """Why the looser modes are off now; None: they are on."""

    auto_off: str | None
    full_off: str | None


NO_SANDBOX = ModeLimits(
    auto_off="auto needs a sandbox, and this efrd has none",
    full_off="full needs undo, and this efrd has none",
)


class Models(Protocol):
    """The registry of providers, as far as settings need it."""

    def get(self, provider: str) -> Provider: ...

    def resolve(self, model: str | None, effort: str | None) -> Chosen:
        """The model and effort of the active provider. Raises Refusal (invalid, with choices)."""
        ...


class Resolved(Struct, frozen=True):
    """The settings of one turn and who answers it."""

    effective: t.EffectiveSettings
    provider: Provider
    model: ModelFacts


def resolve(
    asked: t.TurnSettings, settings: Settings, models: Models, limits: ModeLimits, *, remote: bool
) -> Resolved:
    """Raises Refusal: `invalid` with the data of the protocol."""
    mode, fallback = _mode(asked, settings, limits, remote)
    chosen = models.resolve(asked.model, asked.effort)
    effective = t.EffectiveSettings(
        mode=mode,
        model=chosen.model.id,
        effort=chosen.effort,
        overridden=t.Overridden(
            mode=asked.mode is not None,
            model=asked.model is not None,
            effort=asked.effort is not None,
        ),
        fallback=fallback,
    )
    return Resolved(effective, models.get(chosen.provider), chosen.model)


def _mode(
    asked: t.TurnSettings, settings: Settings, limits: ModeLimits, remote: bool
) -> tuple[t.Mode, t.ModeFallback | None]:
    wanted = asked.mode or t.Mode(settings.permissions.mode)
    full_off = limits.full_off
    if not settings.permissions.allow_full:
        full_off = "full mode is not allowed (permissions.allow_full)"
    if asked.mode is t.Mode.FULL and full_off is not None:
        raise _full_refused(full_off)
    mode, reason = wanted, None
    if remote and _looser(mode, t.Mode.CAUTIOUS):
        mode, reason = t.Mode.CAUTIOUS, "a turn from a remote device runs with at most cautious"
    if mode is t.Mode.FULL and full_off is not None:
        mode, reason = t.Mode.AUTO, full_off
    if mode is t.Mode.AUTO and limits.auto_off is not None:
        mode, reason = t.Mode.CAUTIOUS, limits.auto_off
    return mode, None if reason is None else t.ModeFallback(asked=wanted, reason=reason)


def _full_refused(why: str) -> Refusal:
    choices = [one.value for one in STRICTNESS if one is not t.Mode.FULL]
    data = {"choices": choices, "setting": "mode", "value": t.Mode.FULL.value}
    return refuse(t.ErrorCode.INVALID, f"full mode is refused: {why}", data)


def _looser(mode: t.Mode, than: t.Mode) -> bool:
    return STRICTNESS.index(mode) > STRICTNESS.index(than)
