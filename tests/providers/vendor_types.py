"""What a vendor's own request type says of a body of ours.

Pydantic reads the typed dicts of the vendors' packages. It drops members that a type does not
know, and it checks the elements of an `Iterable` only when they are read; so the value is read
to its end and compared with what went in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter


def unknown_members(kind: Any, value: Any) -> list[str]:
    """The paths of members that the type does not know. Raises ValidationError for a misfit."""
    return sorted(_missing(value, _whole(_adapter(kind).validate_python(value)), ""))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    """Kept: it is slow to make, and what it has validated needs it until it is read."""
    return TypeAdapter(kind)


def _whole(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _whole(value.model_dump(exclude_unset=True))
    if isinstance(value, Mapping):
        return {name: _whole(member) for name, member in value.items()}
    if isinstance(value, str | int | float | None):
        return value
    return [_whole(element) for element in value]


def _missing(ours: Any, theirs: Any, path: str) -> Iterator[str]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name, member in ours.items():
            if name in theirs:
                yield from _missing(member, theirs[name], f"{path}.{name}")
            else:
                yield f"{path}.{name}"
    elif isinstance(ours, list) and isinstance(theirs, list):
        for one, other in zip(ours, theirs, strict=True):
            yield from _missing(one, other, f"{path}[]")
    elif ours != theirs:
        yield path
