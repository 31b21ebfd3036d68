"""Arbitrary values of every declared type, for property tests."""

from __future__ import annotations

from base64 import b64decode, b64encode
from enum import EnumType
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from msgspec import NODEFAULT, Meta, Struct

from efr.wire import events, fixtures, frames, methods, types
from efr.wire.declared import exported, is_set, kinds_of, tag_of
from efr.wire.errors import ErrorBody
from efr.wire.event.base import UnknownEvent
from efr.wire.event.union import EVENTS
from efr.wire.hints import is_struct
from efr.wire.scalars import Params
from efr.wire.shared.connection import Capabilities
from efr.wire.shared.screen import Color
from efr.wire.times import time_from_us

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
PATH = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
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
}


def declared_types() -> set[Any]:
    """Every object, set and union that the protocol declares."""
    found: set[Any] = set()
    for home in (frames, fixtures):
        found |= {
            kind
            for kind in vars(home).values()
            if is_struct(kind) and kind.__module__ == home.__name__
        }
    for module in (types, methods, events):
        found |= {
            kind
            for _home, _name, kind in exported(module)
            if is_struct(kind) or is_set(kind) or kinds_of(kind)
        }
    return found


def any_event() -> st.SearchStrategy[Any]:
    """Events of all kinds, those of a newer version too."""
    known = st.sampled_from(sorted(EVENTS)).flatmap(lambda kind: values_of(EVENTS[kind]))
    return known | values_of(UnknownEvent)


_FORMS["event"] = st.deferred(any_event)


@cache  # a strategy works out much when it is used first
def values_of(hint: Any, *, asked: bool = False) -> st.SearchStrategy[Any]:
    """Values of a declared type that a writer may write.

    `asked`: as part of params, where no value is `unknown`.
    """
    origin = get_origin(hint)
    if origin is Annotated:
        return _annotated(hint, asked=asked)
    if origin is Union or origin is UnionType:
        kinds = [kind for kind in get_args(hint) if not (asked and tag_of(kind) == "unknown")]
        return st.one_of([values_of(kind, asked=asked) for kind in kinds])
    if origin is tuple:
        return _tuple(get_args(hint), asked=asked)
    if origin is dict:
        return st.dictionaries(*(values_of(part, asked=asked) for part in get_args(hint)))
    if hint is NoneType:
        return st.none()
    if isinstance(hint, EnumType):
        members: list[Any] = list(hint)
        return st.sampled_from([one for one in members if not (asked and one.name == "UNKNOWN")])
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _struct(hint, asked=asked or issubclass(hint, Params))
    return _PLAIN[hint]


def _annotated(hint: Any, *, asked: bool) -> st.SearchStrategy[Any]:
    base, *notes = get_args(hint)
    for note in notes:
        extra = note.extra if isinstance(note, Meta) and note.extra else {}
        if extra.get("form") in _FORMS:
            return _FORMS[extra["form"]]
        if extra.get("name") == "Path":
            return PATH
        if "const" in extra:
            return st.just(extra["const"])
        if "bits" in extra:
            return st.integers(0, 2 ** extra["bits"] - 1)
        if isinstance(note, Meta) and note.le is not None:
            return st.integers(int(note.ge or 0), int(note.le))
    return values_of(base, asked=asked)


def _tuple(elements: tuple[Any, ...], *, asked: bool) -> st.SearchStrategy[Any]:
    if elements[-1] is Ellipsis:
        return st.lists(values_of(elements[0], asked=asked), max_size=2).map(tuple)
    return st.tuples(*(values_of(element, asked=asked) for element in elements))


def _struct(kind: type[Struct], *, asked: bool) -> st.SearchStrategy[Any]:
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
        name: hint if isinstance(hint, st.SearchStrategy) else st.deferred(_later(hint, asked))
        for name, hint in hints.items()
    }
    required = {name: members[name] for name in _required(kind)}
    optional = {name: members[name] for name in members.keys() - required.keys()}
    return st.fixed_dictionaries(required, optional=optional).map(lambda drawn: kind(**drawn))


def _later(hint: Any, asked: bool) -> Any:
    return lambda: values_of(hint, asked=asked)


def _required(kind: type[Struct]) -> list[str]:
    defaults = kind.__struct_defaults__
    fields = kind.__struct_fields__
    first = len(fields) - len(defaults)
    late = [
        name for name, value in zip(fields[first:], defaults, strict=True) if value is NODEFAULT
    ]
    return [*fields[:first], *late]
