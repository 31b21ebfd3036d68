"""One value as a person types it: `efr config set KEY VALUE`, and the settings tool.

Pure. A text counts as it is; numbers, `true` and `false` as in TOML; a list is a TOML array or
words with commas between them.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from msgspec import inspect

from efr.config.declared import Declared, declared, members
from efr.config.errors import ConfigError
from efr.config.faults import unknown_key

_MAY_BE_NUMBER: Final = re.compile(r"[+-]?[0-9][0-9A-Za-z_]*")


def find(key: str) -> Declared:
    """The declared key of that name. Raises ConfigError, with the nearest one."""
    found = declared().get(key)
    if found is None:
        raise unknown_key(key)
    return found


def parsed(key: Declared, text: str) -> Any:
    """The value that the text means for this key; whether it fits is for the load to say."""
    kinds = members(key.kind)
    if any(isinstance(one, inspect.VarTupleType) for one in kinds):
        return _list(key, text)
    if any(isinstance(one, inspect.BoolType) for one in kinds) and text in ("true", "false"):
        return text == "true"
    if any(isinstance(one, inspect.IntType) for one in kinds):
        number = _whole_number(text)
        if number is not None:
            return number
    return text  # also a colour by its name, or an error that the load words better


def _whole_number(text: str) -> int | None:
    """The number as TOML reads it: `1_000` is one, `007` and digits of other scripts are none."""
    if not _MAY_BE_NUMBER.fullmatch(text):
        return None
    try:
        found = tomllib.loads(f"x = {text}")["x"]
    except ValueError:
        return None
    return found if isinstance(found, int) else None


def _list(key: Declared, text: str) -> Any:
    stripped = text.strip()
    if not stripped.startswith("["):
        return [word.strip() for word in stripped.split(",") if word.strip()]
    try:
        return tomllib.loads(f"x = {stripped}")["x"]
    except tomllib.TOMLDecodeError as exc:
        raise ConfigError(f"{text!r} is no TOML array", key=key.name) from exc
