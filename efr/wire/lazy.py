"""Names that load their module when they are first used.

The command starts on one or two types; all of them together cost as much as the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def home_of_names(
    names: dict[str, Any], homes: Mapping[str, tuple[str, ...]]
) -> Callable[[str], Any]:
    """A module's `__getattr__` over `homes` (module: its names); what it finds stays in `names`."""
    home = {name: module for module, listed in homes.items() for name in listed}

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"{names['__name__']} has no {name}")
        names[name] = found = getattr(import_module(home[name]), name)
        return found

    return find
