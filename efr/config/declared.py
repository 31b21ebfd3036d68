"""The declared keys as values: the name, type and default of each, and the tables they are in.

Pure; made from `schema.py` and `keys.py` for those who ask about all of them: errors, the page, the
JSON schema, the example, a change of one key. Loading a good file does without.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from msgspec import inspect

from efr.config.keys import KEYS, Key
from efr.config.schema import Settings


class Declared(NamedTuple):
    """One key. `table` is "" at the top level; `choices` are the texts of an enum."""

    name: str
    table: str
    kind: inspect.Type
    default: Any
    choices: tuple[str, ...]
    key: Key


class DeclaredTable(NamedTuple):
    """One table with keys of its own, and what it is about."""

    name: str
    about: str


@cache
def root() -> inspect.StructType:
    """The type of the whole file."""
    kind = inspect.type_info(Settings)
    assert isinstance(kind, inspect.StructType)
    return kind


@cache
def declared() -> dict[str, Declared]:
    """Every key by its dotted name, in the order of the file."""
    return {one.name: one for one in _keys(root(), "", Settings())}


@cache
def tables() -> tuple[DeclaredTable, ...]:
    """Every table in the order of the file; the top level is ""."""
    return (DeclaredTable("", ""), *_tables(root(), ""))


def members(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    """The types that a value may have, without the one for "unset"."""
    if isinstance(kind, inspect.UnionType):
        return tuple(one for one in kind.types if not isinstance(one, inspect.NoneType))
    return (kind,)


def choices_of(annotation: Any) -> tuple[str, ...]:
    """The texts of a `Literal`, also beside None, in the order in which they were declared."""
    if typing.get_origin(annotation) is typing.Literal:
        return tuple(map(str, typing.get_args(annotation)))
    return tuple(one for part in typing.get_args(annotation) for one in choices_of(part))


def _keys(table: inspect.StructType, prefix: str, defaults: Any) -> Iterator[Declared]:
    for field in table.fields:
        name = f"{prefix}.{field.encode_name}" if prefix else field.encode_name
        default = getattr(defaults, field.name)
        if isinstance(field.type, inspect.StructType):
            yield from _keys(field.type, name, default)
        else:
            choices = choices_of(table.cls.__annotations__[field.name])
            yield Declared(name, prefix, field.type, default, choices, KEYS[name])


def _tables(table: inspect.StructType, prefix: str) -> Iterator[DeclaredTable]:
    for field in table.fields:
        if isinstance(field.type, inspect.StructType):
            name = f"{prefix}.{field.encode_name}" if prefix else field.encode_name
            yield DeclaredTable(name, field.type.cls.__doc__ or "")
            yield from _tables(field.type, name)
