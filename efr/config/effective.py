"""The effective view: every key with the value that counts and where it comes from.

The same text for `efrd --print-config` and `efr config show`. Values are inline TOML; what is
unset says so, and a long text says only how long it is. Pure.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from efr.config.schema import Settings

LONG_TEXT_BYTES = 200  # of a text that is shown: a longer one fills the screen

# What an empty list of models means.
_NO_LIST = {
    "openai.models": "(built in)",
    "anthropic.models": "(from the API)",
    "compatible.models": "(from the server)",
}


def render(settings: Settings, file: bytes, overridden: Mapping[str, str]) -> str:
    """One line per key, in the order of the tables.

    `file` is the text that the settings were read from; `overridden` names what stands over it,
    such as `log` from `flag --log`.
    """
    given = _given(file)
    return "".join(
        f"{key} = {_shown(key, value)}  # {overridden.get(key) or _source(key, given)}\n"
        for key, value in _flat(settings, "")
    )


def _flat(table: msgspec.Struct, prefix: str) -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(table):
        value = getattr(table, field.name)
        key = prefix + field.name
        if isinstance(value, msgspec.Struct):
            yield from _flat(value, f"{key}.")
        else:
            yield key, msgspec.to_builtins(value)


def _given(file: bytes) -> dict[str, Any]:
    document: dict[str, Any] = tomllib.loads(file.decode())
    return document


def _source(key: str, given: Mapping[str, Any]) -> str:
    found: Any = given
    for name in key.split("."):
        if not isinstance(found, dict) or name not in found:
            return "default"
        found = found[name]
    return "file"


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "(unset)"
    if not value and key in _NO_LIST:
        return _NO_LIST[key]
    return _toml(value)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        size = len(value.encode())
        if size > LONG_TEXT_BYTES or "\n" in value:
            return f"<{size} bytes>"
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        members = (f"{name} = {_toml(one)}" for name, one in value.items() if one is not None)
        return "{ " + ", ".join(members) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    return str(value)
