"""The generated parts of docs/config.md: a table for each table of the file. Pure.

The page is written by hand but for the parts between two markers:

    <!-- generated: table shell -->
    <!-- end -->
"""

from __future__ import annotations

import re
from typing import Final

from efr.config.declared import Declared, declared, tables
from efr.config.describe import default_of, values_of

_PART: Final = re.compile(r"(<!-- generated: table ([a-z.]*) ?-->\n)(.*?)(<!-- end -->)", re.DOTALL)


class BadPage(Exception):
    """The page has no place for a table, two places, or a place for no table."""


def filled(page: str) -> str:
    """The page with its tables as they are today. Raises BadPage."""
    current = {table.name: _table(table.name, table.about) for table in tables()}
    places = [found[2] for found in _PART.finditer(page)]
    wrong = [
        *(f"no place for the table {name!r}" for name in current if name not in places),
        *(f"no such table: {name!r}" for name in places if name not in current),
        *(f"two places for {name!r}" for name in sorted(set(places)) if places.count(name) > 1),
    ]
    if wrong:
        raise BadPage("; ".join(wrong))
    return _PART.sub(lambda found: f"{found[1]}{current[found[2]]}\n{found[4]}", page)


def _table(name: str, about: str) -> str:
    head = [f"{about}\n"] if about else []
    rows = [_row(one) for one in declared().values() if one.table == name]
    lines = [
        "| key | default | values | applies with | what it does |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *lines, *rows] if rows else head)


def _row(one: Declared) -> str:
    cells = (f"`{one.name}`", _default(one), values_of(one), one.key.applies, one.key.text)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _default(one: Declared) -> str:
    if one.key.shown:
        return one.key.shown
    if isinstance(one.default, tuple) and one.default:
        return " ".join(f"`{item}`" for item in one.default)
    text = default_of(one)
    return f"`{text}`" if text else "unset"
