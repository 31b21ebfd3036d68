"""What the model reads of the settings: the file, every key, the rules, the models.

Blocks on the file system. Holds no secret: config.toml has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import to_builtins

from efr.config.effective import view
from efr.config.errors import ConfigError
from efr.config.keys import KEYS
from efr.config.load import parse, read_file
from efr.config.toml import inline
from efr.text.visible import visible_line
from efr.wire import types as t

if TYPE_CHECKING:
    from efr.tools.settings import Live


def settings_text(live: Live, models: Sequence[t.ModelInfo]) -> str:
    """The whole, a fact a line."""
    return "\n".join(visible_line(line) for line in _lines(live, models))


def _lines(live: Live, models: Sequence[t.ModelInfo]) -> Iterator[str]:
    status = live.status()
    link = f", a link to {status.symlink_target}" if status.symlink_target else ""
    yield f"File: {status.path}{link}{'' if status.exists else ' (not there: all defaults)'}"
    error = status.reload_error
    if error is not None:
        place = f"line {error.line}, column {error.column}: " if error.line else ""
        key = f"{error.key}: " if error.key else ""
        yield f"The last reload: {place}{key}{error.message}"
    if status.restart_needed:
        yield f"These wait for a restart of efrd: {', '.join(status.restart_needed)}"
    yield ""
    yield "Keys (value; where it is from; a change applies with):"
    for shown in view(live.current(), _good_file(live), live.overridden()):
        if shown.key != "permissions.rules":
            yield f"{shown.key} = {shown.value}; {shown.source}; {KEYS[shown.key].applies}"
    yield ""
    rules = live.current().permissions.rules
    yield "The user's rules, the last that matches wins:" if rules else "The user has no rules."
    for index, rule in enumerate(rules):
        yield f"{index}: {inline(to_builtins(rule))}"
    yield ""
    yield "Models (efforts):" if models else "No list of models is there yet."
    for model in models:
        efforts = ", ".join(model.efforts) or "any"
        yield f"{model.id}{' (default)' if model.default else ''}: {efforts}"


def _good_file(live: Live) -> bytes:
    """The file's bytes for the sources; nothing when it is no TOML."""
    try:
        text = read_file(live.path)
        parse(text)
    except ConfigError:
        return b""
    return text
