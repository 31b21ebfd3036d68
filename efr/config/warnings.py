"""What to warn of in a good file: values that are right and yet do not do what they say. Pure.

Never errors: they apply. What only the daemon can know, such as a model's largest window, it adds.
"""

from __future__ import annotations

from collections.abc import Iterator

from efr.config.rules import names_secrets, rules_of
from efr.config.schema import Settings
from efr.policy.paths import holds, normal
from efr.policy.rules import ExitIs, Under
from efr.text.companies import is_of_another


def warnings(settings: Settings) -> tuple[str, ...]:
    """A sentence each."""
    return tuple(_warnings(settings))


def _warnings(settings: Settings) -> Iterator[str]:
    if settings.screen == "ghostty":
        yield 'screen = "ghostty": this efrd has one kind of screen, vt100, and uses it'
    if not settings.network.bus_filter:
        yield "network.bus_filter is off: a call with the bus reaches everything on it"
    for index, rule in enumerate(rules_of(settings)):
        resource = rule.resource
        if rule.effect != "allow" or not isinstance(resource, ExitIs) or resource.path is None:
            continue
        what = _floor(settings, resource.path)
        if what is not None:
            yield f"permissions.rules[{index}] does nothing: {resource.path} is {what}"


def _floor(settings: Settings, path: str) -> str | None:
    """Why no rule opens the path, or None."""
    if names_secrets(Under(path)) or _below(settings.permissions.secret_paths, path):
        return "a secret location"
    if _below(settings.sandbox.mask, path):
        return "masked (sandbox.mask)"
    return "protected (sandbox.protect)" if _below(settings.sandbox.protect, path) else None


def _below(roots: tuple[str, ...], path: str) -> bool:
    return any(holds(normal(f"/{root}"), normal(f"/{path}")) for root in roots)


def foreign_model(settings: Settings) -> str | None:
    """The warning of a default model that the configured provider does not have, by its form."""
    name, provider = settings.model.name, settings.model.provider
    if name is None or provider is None or not is_of_another(name, provider):
        return None
    table = "openai" if provider.startswith("openai") else "anthropic"
    listed = getattr(settings, table).models
    if name in {one if isinstance(one, str) else one.id for one in listed}:
        return None
    return f"{name} is no model of {provider}: turns that name no model fail"
