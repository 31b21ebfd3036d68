"""The built-in system prompt: `efr/assets/system_prompt.md`, read once.

Nothing in it changes from turn to turn: a change of its bytes loses the provider's whole cache.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def built_in() -> str:
    """The text. Reads a file of the package on the first call."""
    asset = files("efr") / "assets" / "system_prompt.md"
    return asset.read_text(encoding="utf-8").strip()
