"""The model list of Anthropic. Pure and lenient: an entry that cannot be read is left out.

There is no built-in list and no guess: the API's list tells everything a turn needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from efr.providers.canonical import Json, ModelFacts
from efr.providers.openai_models import LADDER
from efr.providers.server_values import object_of, size, text

_DEFAULT_EFFORT: Final = "medium"


def anthropic_models(entries: list[Json]) -> tuple[ModelFacts, ...]:
    """The models on offer, in the API's order."""
    return tuple(
        _anthropic(entry)
        for entry in entries
        if isinstance(entry, dict)
        and isinstance(entry.get("id"), str)
        and entry.get("lifecycle") in (None, "active")
    )


def _anthropic(entry: Mapping[str, Json]) -> ModelFacts:
    efforts = _efforts(entry)
    window = size(entry, "max_input_tokens")
    return ModelFacts(
        id=entry["id"],
        display_name=text(entry, "display_name"),
        efforts=efforts,
        default_effort=_DEFAULT_EFFORT if _DEFAULT_EFFORT in efforts else None,
        context_window=window,
        max_context_window=window,
        max_output_tokens=size(entry, "max_tokens"),
        edit_tool="edit",
    )


def _efforts(entry: Mapping[str, Json]) -> tuple[str, ...]:
    """The supported levels: the known ones from low to high, then new ones as listed."""
    effort = object_of(object_of(entry, "capabilities"), "effort")
    taken = [
        name
        for name, level in effort.items()
        if isinstance(level, dict) and level.get("supported") is True
    ]
    known = [name for name in LADDER if name in taken]
    return tuple(known + [name for name in taken if name not in LADDER])
