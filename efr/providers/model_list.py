"""The models that a prompt may name: the catalog's, then the config's, with the config's limits.

Pure. Also answers which model and effort a turn runs with, and refuses what is not on offer with
the wire's error data, so that the client can show the choices.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from efr.providers.canonical import Effort, ModelFacts
from efr.providers.settings import ModelEntry
from efr.text.companies import is_of_another
from efr.wire import types as t
from efr.wire.errors import Refusal, refuse

log = logging.getLogger("efr.providers.models")

_EFFORT = re.compile(r"[a-z0-9_-]{1,32}")  # where nobody knows which ones a model has


class ListedModel(Struct, frozen=True):
    """A model on offer and where its facts come from."""

    facts: ModelFacts
    source: t.ModelSource


class ModelList(Struct, frozen=True):
    """The models on offer of one provider, and its default."""

    provider: str
    models: tuple[ListedModel, ...]
    default: str | None  # may be an id that is not on offer: then a prompt is refused

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(model.facts.id for model in self.models)

    def get(self, model: str) -> ModelFacts | None:
        return next((m.facts for m in self.models if m.facts.id == model), None)

    def default_first(self) -> list[ModelFacts]:
        """The facts alone; the model of a turn that names none comes first."""
        return sorted(
            (model.facts for model in self.models), key=lambda facts: facts.id != self.default
        )

    def on_wire(self) -> tuple[t.ModelInfo, ...]:
        """The members that models.list shows."""
        return tuple(
            t.ModelInfo(
                id=model.facts.id,
                efforts=model.facts.efforts,
                default_effort=model.facts.default_effort,
                default=model.facts.id == self.default,
                source=model.source,
                context_window=model.facts.context_window,
                max_context_window=model.facts.max_context_window,
                prefer_websockets=model.facts.prefer_websockets,
            )
            for model in self.models
        )


class Resolved(Struct, frozen=True):
    """What a turn runs with; effort None: the backend decides."""

    provider: str
    model: ModelFacts
    effort: Effort | None


def merged(
    catalog: Sequence[ModelFacts], configured: Sequence[str | ModelEntry]
) -> tuple[ListedModel, ...]:
    """The catalog with the config's limits, then the config's own models."""
    entries = [(e, None, None) if isinstance(e, str) else _limits(e) for e in configured]
    limits = {id_: (window, output) for id_, window, output in entries}
    listed = [
        ListedModel(_limited(facts, *limits.get(facts.id, (None, None))), t.ModelSource.BUILTIN)
        for facts in catalog
    ]
    known = {facts.id for facts in catalog}
    added = [
        ListedModel(
            ModelFacts(
                id=id_, context_window=window, max_context_window=window, max_output_tokens=output
            ),
            t.ModelSource.CONFIG,
        )
        for id_, (window, output) in limits.items()
        if id_ not in known
    ]
    return tuple(listed + added)


def too_large(
    catalog: Sequence[ModelFacts], configured: Sequence[str | ModelEntry]
) -> tuple[str, ...]:
    """Ids whose configured window is above the model's largest: worth one warning."""
    largest = {facts.id: facts.max_context_window for facts in catalog}
    return tuple(
        entry.id
        for entry in configured
        if not isinstance(entry, str)
        and entry.context_window is not None
        and entry.context_window > (largest.get(entry.id) or entry.context_window)
    )


def is_foreign(name: str, provider: str, configured: Sequence[str | ModelEntry]) -> bool:
    """Whether a model's id has the form of another company than the provider's."""
    listed = {one if isinstance(one, str) else one.id for one in configured}
    return name not in listed and is_of_another(name, provider)


def choose_default(
    name: str | None,
    catalog: Sequence[ModelFacts],
    configured: Sequence[str | ModelEntry],
    preferred: str | None,
) -> str | None:
    """The config's name, else the catalog's default, else the first configured id.

    preferred: the catalog's default where it is not the first, and the last resort.
    """
    if name is not None:
        return name
    ids = [facts.id for facts in catalog]
    if preferred in ids or (preferred is not None and not ids and not configured):
        return preferred
    configured_ids = [entry if isinstance(entry, str) else entry.id for entry in configured]
    return next(iter([*ids, *configured_ids]), None)


def resolve(
    models: ModelList,
    asked_model: str | None,
    asked_effort: Effort | None,
    default_effort: Effort | None,
) -> Resolved:
    """The model and effort of a turn. Raises the wire's Refusal (invalid, with choices)."""
    name = models.default if asked_model is None else asked_model
    facts = models.get(name) if name is not None else None
    if name is None or facts is None:
        raise _not_on_offer(models, name or "")
    effort = default_effort if asked_effort is None else asked_effort
    if effort is not None and (
        effort not in facts.efforts if facts.efforts else _EFFORT.fullmatch(effort) is None
    ):
        raise _no_such_effort(facts, effort)
    return Resolved(models.provider, facts, effort)


def foreign_name(name: str, provider: str) -> Refusal:
    """`model.name` belongs to another company than the provider."""
    return refuse(
        t.ErrorCode.INVALID,
        f"model.name is {name}, which the provider {provider} does not serve",
        {"setting": "model", "value": name, "provider": provider},
    )


def _not_on_offer(models: ModelList, name: str) -> Refusal:
    choices = list(models.ids)
    return refuse(
        t.ErrorCode.INVALID,
        f"{models.provider} has no model {name!r}; choose {', '.join(choices) or 'one in config'}",
        {"setting": "model", "value": name, "choices": choices},
    )


def _no_such_effort(facts: ModelFacts, effort: Effort) -> Refusal:
    choices = ", ".join(facts.efforts) or "a word of a-z, 0-9, - and _"
    return refuse(
        t.ErrorCode.INVALID,
        f"{facts.id} has no effort {effort!r}; choose {choices}",
        {"setting": "effort", "value": effort, "choices": list(facts.efforts), "model": facts.id},
    )


def _limits(entry: ModelEntry) -> tuple[str, int | None, int | None]:
    return entry.id, entry.context_window, entry.max_output_tokens


def _limited(facts: ModelFacts, window: int | None, output: int | None) -> ModelFacts:
    """A window up to the model's largest; an output limit only downwards."""
    if window is not None and facts.max_context_window is not None:
        window = min(window, facts.max_context_window)
    if output is not None and facts.max_output_tokens is not None:
        output = min(output, facts.max_output_tokens)
    return replace(
        facts,
        context_window=window if window is not None else facts.context_window,
        max_output_tokens=output if output is not None else facts.max_output_tokens,
    )
