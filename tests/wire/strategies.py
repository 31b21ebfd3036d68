"""Arbitrary values of every declared type, for property tests."""

from __future__ import annotations

from base64 import b64decode, b64encode
from enum import EnumType
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import NODEFAULT, Meta, Struct

from efr.wire.errors import ErrorBody
from efr.wire.event.base import UnknownEvent
from efr.wire.event.union import EVENTS
from efr.wire.shared.connection import Capabilities
from efr.wire.shared.screen import Color
from efr.wire.times import time_from_us

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
FREE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=5,
)
_PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: FREE,
    str: TEXT,
    bool: st.booleans(),
    int: st.integers(0, 9),
}
_FORMS: dict[str, st.SearchStrategy[Any]] = {
    "uuid": st.uuids().map(str),
    "job": st.integers(1, 10**9).map(lambda number: f"j{number}"),
    "time": st.integers(0, 4 * 10**15).map(time_from_us),
    "base64": st.binary(max_size=9).map(b64encode).map(b64decode),
    "event": st.deferred(lambda: st.sampled_from(sorted(EVENTS)).flatmap(event_of)),
}


def event_of(kind: str) -> st.SearchStrategy[Any]:
    """Events of one kind."""
    return values_of(EVENTS[kind])


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a declared type that a writer may write."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _annotated(hint)
    if origin is Union or origin is UnionType:
        return st.one_of([values_of(kind) for kind in get_args(hint)])
    if origin is tuple:
        return _tuple(get_args(hint))
    if hint is NoneType:
        return st.none()
    if isinstance(hint, EnumType):
        members: list[Any] = list(hint)
        return st.sampled_from(members)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _struct(hint)
    return _PLAIN[hint]


def _annotated(hint: Any) -> st.SearchStrategy[Any]:
    base, *notes = get_args(hint)
    for note in notes:
        extra = note.extra if isinstance(note, Meta) and note.extra else {}
        if extra.get("form") in _FORMS:
            return _FORMS[extra["form"]]
        if "bits" in extra:
            return st.integers(0, 2 ** extra["bits"] - 1)
        if isinstance(note, Meta) and note.le is not None:
            return st.integers(int(note.ge or 0), int(note.le))
    return values_of(base)


def _tuple(elements: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if elements[-1] is Ellipsis:
        return st.lists(values_of(elements[0]), max_size=2).map(tuple)
    return st.tuples(*map(values_of, elements))


def _struct(kind: type[Struct]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind, include_extras=True)
    if kind is Color:
        rgb, indexed = values_of(hints["rgb"]), values_of(hints["indexed"])
        return st.builds(kind, rgb=rgb.filter(bool)) | st.builds(
            kind, indexed=indexed.filter(lambda index: index is not None)
        )
    if kind is Capabilities:
        known = set(kind.__struct_fields__)
        hints["others"] = st.dictionaries(TEXT.filter(lambda key: key not in known), FREE)
    if kind is UnknownEvent:
        hints["members"] = st.dictionaries(TEXT.filter(lambda key: key != "kind"), FREE)
        hints["kind"] = TEXT.filter(lambda kind: kind not in EVENTS)
    if kind is ErrorBody:
        hints["data"] = FREE
    members = {
        name: hint if isinstance(hint, st.SearchStrategy) else st.deferred(_later(hint))
        for name, hint in hints.items()
    }
    required = {name: members[name] for name in _required(kind)}
    optional = {name: members[name] for name in members.keys() - required.keys()}
    return st.fixed_dictionaries(required, optional=optional).map(lambda drawn: kind(**drawn))


def _later(hint: Any) -> Any:
    return lambda: values_of(hint)


def _required(kind: type[Struct]) -> list[str]:
    defaults = kind.__struct_defaults__
    fields = kind.__struct_fields__
    first = len(fields) - len(defaults)
    late = [
        name for name, value in zip(fields[first:], defaults, strict=True) if value is NODEFAULT
    ]
    return [*fields[:first], *late]
