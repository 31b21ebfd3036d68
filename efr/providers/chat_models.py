"""The model list of a compatible server. Pure and lenient; often it tells ids alone.

The members read for the window are those of vLLM, OpenRouter, LM Studio, Together and llama.cpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from efr.providers.canonical import Json, ModelFacts
from efr.providers.server_values import object_of, size

_WINDOW_MEMBERS: Final = (
    "max_model_len",
    "context_length",
    "loaded_context_length",
    "max_context_length",
    "context_window",
)


def compatible_models(value: Json) -> tuple[ModelFacts, ...]:
    """The models of a compatible server's list, in its order."""
    entries = value.get("data") if isinstance(value, dict) else value
    return tuple(
        _compatible(entry)
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    )


def _compatible(entry: Mapping[str, Json]) -> ModelFacts:
    meta = object_of(entry, "meta")
    sizes = [size(entry, name) for name in _WINDOW_MEMBERS]
    sizes += [size(meta, name) for name in ("n_ctx", "n_ctx_train")]
    window = next((one for one in sizes if one is not None), None)
    return ModelFacts(id=entry["id"], context_window=window, max_context_window=window)
