"""The commented example of config.toml: every key once, with its default. Pure.

A line `#key = value` is a setting that is commented out; every other comment has a blank behind
its sign. A new config.toml starts as this text.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from efr.config.declared import Declared, declared, tables
from efr.config.describe import default_of, values_of
from efr.config.keys import RESTART

_WIDTH: Final = 98  # columns of a comment without its sign

_HEAD: Final = """\
#:schema ./config.schema.json
# Settings of efr. Each key is here once, commented out, with its default or an example: take the
# sign before it away and set it. efrd takes up a change when the file is saved; what waits for a
# restart of efrd says so.
#
# All about them: docs/config.md. Check: efr config check. Help in your editor:
# efr config schema > ~/.config/efr/config.schema.json
"""

_RULE: Final = """\
#[[permissions.rules]]
#action = "execute"
#resource = { command = { program = "pytest", forbid = ["-p"], under = "project" } }
#effect = "allow"
#matches = ["pytest -q tests"]
#matches_not = ["pytest -p other"]
"""


def example() -> str:
    """The whole text."""
    return "".join(_parts())


def _parts() -> Iterator[str]:
    yield _HEAD
    for table in tables():
        keys = [one for one in declared().values() if one.table == table.name]
        if table.name:
            yield f"\n\n# {_plain(table.about)}\n[{table.name}]\n"
        for one in keys:
            yield from _key(one)


def _key(one: Declared) -> Iterator[str]:
    restart = f" Applies after a {RESTART}." if one.key.applies == RESTART else ""
    unset = f" Unset: {one.key.shown}." if one.key.shown else ""
    values = _plain(values_of(one))
    text = f"{_plain(one.key.text)}{unset} Values: {values}.{restart}"
    yield "\n"
    for line in textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False):
        yield f"# {line}\n"
    if one.name == "permissions.rules":
        yield _RULE
        return
    name = one.name.rpartition(".")[2]
    yield f"#{name} = {one.key.example or default_of(one)}\n"


def _plain(text: str) -> str:
    """Without the marks of the page."""
    return text.replace("`", "").replace("[permissions.md](permissions.md)", "docs/permissions.md")
