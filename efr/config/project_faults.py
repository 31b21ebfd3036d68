"""What is wrong with a `projects.toml` that is TOML: the first fault, in words and with its place.

Pure. Only a broken file comes here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from efr.config.errors import ConfigError
from efr.config.faults import dotted, shown
from efr.config.places import Path, Span, layout, line_column

ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROJECT: Final = "project"
_MEMBERS: Final = ("id", "root", "name")
_NEEDED: Final = ("id", "root")


def first_fault(document: Mapping[str, Any], text: str) -> ConfigError | None:
    """The first fault in the order of the file; None when nothing is wrong."""
    found = list(_faults(document))
    if not found:
        return None
    where = layout(text).spans
    path, message = min(found, key=lambda one: _offset(one[0], where))
    line, column = line_column(text, _offset(path, where))
    return ConfigError(message, line=line, column=column, key=dotted(path))


def _offset(path: Path, where: Mapping[Path, Span]) -> int:
    """Where the path stands, else the nearest table above it."""
    while path and path not in where:
        path = path[:-1]
    return where[path].key if path else 0


def _faults(document: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for key in document:
        if key != _PROJECT:
            yield (key,), "unknown key; a project is a table [[project]] with id, root and name"
    entries = document.get(_PROJECT, [])
    if not isinstance(entries, list):
        yield (_PROJECT,), "must be a list of tables: write [[project]]"
        return
    for number, entry in enumerate(entries):
        path: Path = (_PROJECT, number)
        if isinstance(entry, dict):
            yield from _faults_of(entry, path)
        else:
            yield path, f"must be a table, not {shown(entry)}"


def _faults_of(entry: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, str]]:
    for key, value in entry.items():
        message = _wrong(key, value)
        if message is not None:
            yield (*path, key), message
    for key in _NEEDED:
        if key not in entry:
            yield (*path, key), "is missing"


def _wrong(key: str, value: object) -> str | None:
    if key not in _MEMBERS:
        return f"unknown key; a project has {', '.join(_MEMBERS)}"
    if not isinstance(value, str):
        return f"must be a text, not {shown(value)}"
    if key == "id" and ID.fullmatch(value) is None:
        return f"must be a UUID in lower case, not {shown(value)}"
    if key == "root" and not value.startswith("/"):
        return f"must be absolute, not {shown(value)}"
    return None
