"""The model lists of OpenAI: what the subscription's backend and the public API answer.

Pure. A list is parsed leniently: members that are not known are ignored, an entry that cannot be
read is left out. The built-in table is the last fallback, when neither fetch nor cache is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from efr.providers.canonical import Json, ModelFacts
from efr.providers.server_values import size, text

LADDER: Final = ("low", "medium", "high", "xhigh", "max", "ultra")
_WINDOW: Final = 272_000
_LARGE: Final = 872_000


def _known(id_: str, largest: int, highest: str, default: str) -> ModelFacts:
    return ModelFacts(
        id=id_,
        efforts=LADDER[: LADDER.index(highest) + 1],
        default_effort=default,
        context_window=_WINDOW,
        max_context_window=largest,
        freeform_tools=True,
        prefer_websockets=True,
        edit_tool="apply_patch",
    )


BUILTIN: Final = (
    _known("gpt-6.1-sol", _LARGE, "ultra", "low"),
    _known("gpt-6-astra", _LARGE, "ultra", "low"),
    _known("gpt-6-sol", _LARGE, "ultra", "medium"),
    _known("gpt-6-luna", _LARGE, "max", "medium"),
    _known("gpt-5.6-sol", _LARGE, "ultra", "low"),
    _known("gpt-5.6-terra", _LARGE, "ultra", "medium"),
    _known("gpt-5.6-luna", _LARGE, "max", "medium"),
    _known("gpt-5.5", _WINDOW, "xhigh", "medium"),
)  # by priority; the first is the default


def subscription_models(value: Json) -> tuple[ModelFacts, ...]:
    """The models on offer, by priority; empty when the answer offers none."""
    entries = value.get("models") if isinstance(value, dict) else value
    offered: list[tuple[int, int, ModelFacts]] = []
    for position, entry in enumerate(entries if isinstance(entries, list) else ()):
        facts = _entry(entry) if isinstance(entry, dict) else None
        if facts is not None:
            priority = entry.get("priority")
            rank = priority if isinstance(priority, int) else 2**31
            offered.append((rank, position, facts))
    return tuple(facts for _, _, facts in sorted(offered, key=lambda item: item[:2]))


def api_models(ids: Iterable[str]) -> tuple[ModelFacts, ...]:
    """The built-in table, cut down to what this key may use."""
    served = frozenset(ids)
    return tuple(facts for facts in BUILTIN if facts.id in served)


def model_ids(value: Json) -> tuple[str, ...]:
    """The ids of a plain list ({"data": [{"id": …}]})."""
    entries = value.get("data") if isinstance(value, dict) else None
    return tuple(
        entry["id"]
        for entry in (entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]
    )


def _entry(entry: Mapping[str, Json]) -> ModelFacts | None:
    slug, tool = text(entry, "slug"), entry.get("apply_patch_tool_type")
    if slug is None:
        return None
    if entry.get("visibility") not in (None, "list"):
        return None
    if tool not in (None, "freeform", "function"):
        return None
    window, largest = size(entry, "context_window"), size(entry, "max_context_window")
    window = window if window is not None else largest
    if window is not None:
        largest = max(largest or 0, window)
    return ModelFacts(
        id=slug,
        display_name=text(entry, "display_name"),
        description=text(entry, "description"),
        efforts=_levels(entry.get("supported_reasoning_levels")),
        default_effort=text(entry, "default_reasoning_level"),
        context_window=window,
        max_context_window=largest,
        freeform_tools=tool == "freeform",
        prefer_websockets=entry.get("prefer_websockets") is True,
        edit_tool="apply_patch",
    )


def _levels(value: Json) -> tuple[str, ...]:
    """Levels come as plain words or as objects that hold one under `effort`."""
    names = [
        level.get("effort") if isinstance(level, dict) else level
        for level in (value if isinstance(value, list) else ())
    ]
    return tuple(name for name in names if isinstance(name, str) and name)
