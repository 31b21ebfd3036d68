"""A value as one line of TOML, for errors, the effective view and the page. Pure."""

from __future__ import annotations

import json
from typing import Any


def inline(value: Any) -> str:
    """The value in TOML, on one line. Members of a table without a value are left out."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        pairs = (f"{_key(name)} = {inline(one)}" for name, one in value.items() if one is not None)
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    if hasattr(value, "isoformat"):
        text: str = value.isoformat()
        return text
    return str(value)


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else inline(name)
