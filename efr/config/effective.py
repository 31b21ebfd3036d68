"""The effective view: every key with the value that counts and where it comes from.

The same text for `efrd --print-config` and `efr config show`. Values are inline TOML; what is
unset says so, and a long text says only how long it is. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from efr.config.keys import KEYS
from efr.config.load import parse, value_of
from efr.config.schema import Settings
from efr.config.toml import inline

LONG_TEXT_BYTES = 200  # of a text that is shown: a longer one fills the screen

# What an empty list of models means.
_NO_LIST = {
    "openai.models": "(built in)",
    "anthropic.models": "(from the API)",
    "compatible.models": "(from the server)",
}


class Shown(NamedTuple):
    """One key as it is shown."""

    key: str
    value: str
    source: str


def render(settings: Settings, file: bytes, overridden: Mapping[str, str]) -> str:
    """One line per key, in the order of the tables.

    `file` is the text that the settings were read from; `overridden` names what stands over it,
    such as `log` from `flag --log`.
    """
    return "".join(
        f"{one.key} = {one.value}  # {one.source}\n" for one in view(settings, file, overridden)
    )


def view(settings: Settings, file: bytes, overridden: Mapping[str, str]) -> Iterator[Shown]:
    """The keys in the order of the tables."""
    given = parse(file) if file else {}
    for key in KEYS:
        value = msgspec.to_builtins(value_of(settings, key))
        yield Shown(key, _shown(key, value), overridden.get(key) or _source(key, given))


def is_given(key: str, document: Mapping[str, Any]) -> bool:
    """Whether the document sets the dotted key."""
    found: Any = document
    for name in key.split("."):
        if not isinstance(found, dict) or name not in found:
            return False
        found = found[name]
    return True


def _source(key: str, given: Mapping[str, Any]) -> str:
    return "file" if is_given(key, given) else "default"


def _shown(key: str, value: Any) -> str:
    if value is None:
        return "(unset)"
    if not value and key in _NO_LIST:
        return _NO_LIST[key]
    if isinstance(value, str) and (len(value.encode()) > LONG_TEXT_BYTES or "\n" in value):
        return f"<{len(value.encode())} bytes>"
    return inline(value)
