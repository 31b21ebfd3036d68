"""What a turn runs with: mode, model and effort, from the prompt's wishes and the config.

Resolved twice: when the prompt comes (a refusal records nothing) and when its turn starts (the
turn fails). Pure but for the look at the provider's list in memory. The order in which a mode is
lowered is that of the permissions document: remote, full refused, auto without a sandbox.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NoReturn

from efr.config.schema import Settings
from efr.providers.canonical import ModelFacts
from efr.providers.provider import Provider
from efr.wire import types as t
from efr.wire.errors import ErrorBody

STRICTNESS = (t.Mode.MANUAL, t.Mode.CAUTIOUS, t.Mode.AUTO, t.Mode.FULL)  # strictest first

# Which company a model's name belongs to: enough to see that a default was left behind when the
# provider changed. A name that fits no row belongs to nobody.
_COMPANIES: Mapping[str, str] = MappingProxyType(
    {"claude": "anthropic", "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai"}
)
_PROVIDER_COMPANY: Mapping[str, str] = MappingProxyType(
    {"openai": "openai", "openai-api": "openai", "anthropic-api": "anthropic"}
)
_EFFORT_WORD = re.compile(r"[a-z0-9_-]{1,32}\Z")


class SettingsRefused(Exception):
    """The settings cannot be used; `body` is what the prompt or its turn fails with."""

    def __init__(self, body: ErrorBody) -> None:
        super().__init__(body.message)
        self.body = body


@dataclass(frozen=True)
class ModeLimits:
    """Why the looser modes are off now; None: they are on."""

    auto_off: str | None
    full_off: str | None


NO_SANDBOX = ModeLimits(
    auto_off="auto needs a sandbox, and this efrd has none",
    full_off="full needs undo, and this efrd has none",
)


@dataclass(frozen=True)
class Resolved:
    """The settings of one turn and who answers it."""

    effective: t.EffectiveSettings
    provider: Provider
    model: ModelFacts


def resolve(
    asked: t.TurnSettings,
    settings: Settings,
    provider: Provider,
    limits: ModeLimits,
    *,
    remote: bool,
) -> Resolved:
    """Raises SettingsRefused with `invalid` and the data of the protocol."""
    mode, fallback = _mode(asked, settings, limits, remote)
    model = _model(asked, settings, provider)
    effort = asked.effort or settings.model.effort
    if effort is not None:
        _check_effort(effort, model)
    effective = t.EffectiveSettings(
        mode=mode,
        model=model.id,
        effort=effort,
        overridden=t.Overridden(
            mode=asked.mode is not None,
            model=asked.model is not None,
            effort=asked.effort is not None,
        ),
        fallback=fallback,
    )
    return Resolved(effective, provider, model)


def _mode(
    asked: t.TurnSettings, settings: Settings, limits: ModeLimits, remote: bool
) -> tuple[t.Mode, t.ModeFallback | None]:
    wanted = asked.mode or t.Mode(settings.permissions.mode)
    full_off = limits.full_off
    if not settings.permissions.allow_full:
        full_off = "full mode is not allowed (permissions.allow_full)"
    if asked.mode is t.Mode.FULL and full_off is not None:
        choices = [one.value for one in STRICTNESS if one is not t.Mode.FULL]
        _refuse(f"full mode is refused: {full_off}", setting="mode", value="full", choices=choices)
    mode, reason = wanted, None
    if remote and _looser(mode, t.Mode.CAUTIOUS):
        mode, reason = t.Mode.CAUTIOUS, "a turn from a remote device runs with at most cautious"
    if mode is t.Mode.FULL and full_off is not None:
        mode, reason = t.Mode.AUTO, full_off
    if mode is t.Mode.AUTO and limits.auto_off is not None:
        mode, reason = t.Mode.CAUTIOUS, limits.auto_off
    return mode, None if reason is None else t.ModeFallback(asked=wanted, reason=reason)


def _looser(mode: t.Mode, than: t.Mode) -> bool:
    return STRICTNESS.index(mode) > STRICTNESS.index(than)


def _model(asked: t.TurnSettings, settings: Settings, provider: Provider) -> ModelFacts:
    models = provider.models()
    name = asked.model or settings.model.name
    if name is None and models:
        return models[0]
    for one in models:
        if one.id == name:
            return one
    if name is None:
        raise SettingsRefused(
            ErrorBody(
                t.ErrorCode.INVALID,
                f"the provider {provider.id} lists no model; set model.name",
                {"choices": [], "setting": "model", "value": ""},
            )
        )
    if asked.model is None and _of_another_company(name, provider.id):
        _refuse(
            f"model.name is {name}, which the provider {provider.id} does not serve",
            setting="model",
            value=name,
            provider=provider.id,
        )
    _refuse(
        f"the provider {provider.id} does not list the model {name}",
        setting="model",
        value=name,
        choices=[one.id for one in models],
    )


def _of_another_company(model: str, provider_id: str) -> bool:
    own = _PROVIDER_COMPANY.get(provider_id)
    theirs = next((who for start, who in _COMPANIES.items() if model.startswith(start)), None)
    return own is not None and theirs is not None and own != theirs


def _check_effort(effort: str, model: ModelFacts) -> None:
    known = effort in model.efforts if model.efforts else _EFFORT_WORD.match(effort)
    if not known:
        _refuse(
            f"the model {model.id} has no effort {effort}",
            setting="effort",
            value=effort,
            choices=list(model.efforts),
            model=model.id,
        )


def _refuse(message: str, **data: object) -> NoReturn:
    raise SettingsRefused(ErrorBody(t.ErrorCode.INVALID, message, dict(sorted(data.items()))))
