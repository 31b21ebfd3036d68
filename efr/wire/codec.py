"""JSON in and out: the one module that knows orjson and msgspec's conversion. Any thread.

`scalars` says how presence is declared. Reading goes through three steps: the JSON reader;
`mend`, for the members that msgspec cannot judge; and msgspec, which checks every type and
range. Writing is msgspec's, after `plain` for the few values it would write otherwise. Both are
worked out once for each type. Facts: protocol, notation and reader rules.

What the libraries give by themselves (tests/wire/test_json.py holds each): orjson refuses lone
surrogates, NaN, a byte order mark and text after the value, takes the last of two equal keys, and
reads an integer above 64 bits as a fraction; msgspec takes no fraction, boolean or text for an
integer, and ignores unknown members.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, TypeVar, Union, get_args, get_origin, overload

import msgspec
from msgspec import DecodeError, ValidationError, convert

from efr.wire.errors import BadValue
from efr.wire.event.base import UnknownEvent
from efr.wire.event.kinds import event_class
from efr.wire.hints import is_struct
from efr.wire.mend import Mends, Unknown
from efr.wire.misfits import MISFITS, bad_value
from efr.wire.plain import PLANS
from efr.wire.scalars import Params
from efr.wire.settle import Settlers

# The protocol's limit, in objects and lists around a value. It bounds the stack of every reader.
MAX_DEPTH: Final = 128

_LIST: Final = ord("[")

T = TypeVar("T")

Reader: TypeAlias = Callable[[Any], Any]

# --- writing ---------------------------------------------------------------------------------

_written: Final = msgspec.json.Encoder().encode


def encode(value: Any) -> bytes:
    """Compact JSON of a declared value, or of plain JSON values.

    Raises BadValue for text that is not valid Unicode, such as a path that is not UTF-8.
    """
    plan = PLANS[type(value)]
    try:
        return _written(value if plan is None else plan(value))
    except (TypeError, ValueError, RecursionError) as exc:
        raise BadValue("$", str(exc)) from exc


def to_builtins(value: Any) -> Any:
    """The value as dicts, lists, text, numbers and booleans, members in written order."""
    return _strict_reader()(encode(value))


def pretty(value: Any) -> bytes:
    """JSON in the form of a fixture file: two spaces of indent, one line feed at the end.

    Raises BadValue as `encode` does.
    """
    return msgspec.json.format(encode(value), indent=2) + b"\n"


# --- reading ---------------------------------------------------------------------------------


def read_json(body: bytes) -> Any:
    """Plain JSON under the protocol's reader rules. Raises BadValue."""
    try:
        value = _strict_reader()(body)
    except ValueError as exc:
        raise BadValue("$", f"not JSON: {exc}") from exc
    return _not_too_deep(body, value)


def read_own_json(body: bytes) -> Any:
    """Plain JSON that our own daemon wrote. Raises BadValue.

    As `read_json`, but integers above 64 bits stay integers. It spares a command the time that
    orjson takes to load, which is more than all types of a prompt take.
    """
    try:
        value = _own_reader(body)
    except (DecodeError, RecursionError) as exc:
        raise BadValue("$", f"not JSON: {exc}") from exc
    return _not_too_deep(body, value)


@cache
def _strict_reader() -> Callable[[bytes], Any]:
    import orjson

    return orjson.loads


_own_reader: Final = msgspec.json.Decoder().decode


def _not_too_deep(body: bytes, value: Any) -> Any:
    # At most so many levels fit: `{"":}` has 5 bytes, and where there is a list `[]` has 2.
    if len(body) > MAX_DEPTH * (2 if _LIST in body else 5) and _is_too_deep(body, value):
        raise BadValue("$", f"nested deeper than {MAX_DEPTH} levels")
    return value


@overload
def decode(body: bytes, kind: type[T]) -> T: ...
@overload
def decode(body: bytes, kind: Any) -> Any: ...
def decode(body: bytes, kind: Any) -> Any:
    """The value of that type. Raises BadValue, which says where the body does not fit."""
    return from_builtins(read_json(body), kind)


@overload
def from_builtins(value: Any, kind: type[T]) -> T: ...
@overload
def from_builtins(value: Any, kind: Any) -> Any: ...
def from_builtins(value: Any, kind: Any) -> Any:
    """The value of that type from plain JSON values, which stay as they are.

    Raises BadValue, which says where they do not fit.
    """
    try:
        read = _BY_IDENTITY.get(id(kind)) or _READERS[kind]
        return read(value)
    except MISFITS as misfit:
        raise bad_value(misfit) from misfit


def decode_event_object(value: Any) -> Any:
    """The event of a plain JSON object; an UnknownEvent for a kind this version does not know."""
    try:
        return _event(value)
    except MISFITS as misfit:
        raise bad_value(misfit) from misfit


def _event(value: Any) -> Any:
    try:
        read = _EVENTS[value["kind"]]
    except (LookupError, TypeError):
        return _event_not_met(value)
    return read(value)


def _event_not_met(value: Any) -> Any:
    """The first event of its kind, one of an unknown kind, or no event at all."""
    if type(value) is not dict:
        raise BadValue("$", "an event is an object")
    kind = value.get("kind")
    if type(kind) is not str:
        raise BadValue("$.kind", "an event has a kind")
    known = event_class(kind)
    if known is None:
        return UnknownEvent(kind, {key: value[key] for key in value if key != "kind"})
    read = _EVENTS[kind] = _READERS[known]
    return read(value)


class _Readers(dict[Any, Reader]):
    """How plain values of each declared type are read, worked out when the type is first met.

    A reader raises one of MISFITS.
    """

    def __missing__(self, kind: Any) -> Reader:
        options = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
        if NoneType in options:
            found = _or_none(self[_without_none(options)])
        elif UnknownEvent in options:
            found = _event
        elif options and all(map(is_struct, options)):
            found = _of_union(kind, options)
        elif isinstance(kind, type) and issubclass(kind, Params):
            found = _of_params(kind)
        else:
            found = _of_one(kind, _of_newer(kind))
        self[kind] = _BY_IDENTITY[id(kind)] = found
        return found


_READERS: Final = _Readers()
_BY_IDENTITY: Final[dict[int, Reader]] = {}  # the same: to hash a union takes longer than the rest
_EVENTS: Final[dict[str, Reader]] = {}  # of the kinds that were met
_SETTLERS: Final = Settlers(_event)
_OF_PARAMS: Final = Mends(Unknown.REFUSED)
_AT_FIRST: Final = Mends(Unknown.LEFT)
_OF_NEWER: Final = Mends(Unknown.READ)


def _without_none(options: tuple[Any, ...]) -> Any:
    return reduce(or_, (option for option in options if option is not NoneType))


def _or_none(some: Reader) -> Reader:
    return lambda value: None if value is None else some(value)


def _of_params(kind: Any) -> Reader:
    mend, settle = _OF_PARAMS[kind], _SETTLERS[kind]

    def read(value: Any) -> Any:
        found = convert(value if mend is None else mend(value), kind)
        return found if settle is None else settle(found)

    return read


def _of_one(kind: Any, of_newer: Reader) -> Reader:
    """The reader of one type. What msgspec refuses is perhaps of a newer version."""
    mend, settle = _AT_FIRST[kind], _SETTLERS[kind]
    if not (mend or settle or _OF_NEWER[kind]):
        return partial(convert, type=kind)
    if mend is None and settle is not None:  # nearly every hot frame
        return _of_plain(kind, settle, of_newer)

    def read(value: Any) -> Any:
        try:
            found = convert(value if mend is None else mend(value), kind)
        except ValidationError:
            return of_newer(value)
        return found if settle is None else settle(found)

    return read


def _of_plain(kind: Any, settle: Reader, of_newer: Reader) -> Reader:
    def read(value: Any) -> Any:
        try:
            found = convert(value, kind)
        except ValidationError:
            return of_newer(value)
        return settle(found)

    return read


def _of_union(kind: Any, options: tuple[Any, ...]) -> Reader:
    """msgspec looks at a whole union again for every call; the `kind` tells the one reader."""
    of_newer = _of_newer(kind)
    by_tag = {option.__struct_config__.tag: _of_one(option, of_newer) for option in options}

    def read(value: Any) -> Any:
        try:
            found = by_tag[value["kind"]]
        except (LookupError, TypeError):
            found = of_newer
        return found(value)

    return read


def _of_newer(kind: Any) -> Reader:
    """Reads a value that may hold what this version does not know."""

    def read(value: Any) -> Any:
        mend, settle = _OF_NEWER[kind], _SETTLERS[kind]
        found = convert(value if mend is None else mend(value), kind)
        return found if settle is None else settle(found)

    return read


def _is_too_deep(body: bytes, value: Any) -> bool:
    if body.count(b"{") + body.count(b"[") <= MAX_DEPTH:
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True
