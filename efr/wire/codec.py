"""JSON in and out: the one module that knows orjson and msgspec's conversion. Any thread.

`scalars` says how presence is declared. Reading goes through three steps: the JSON reader;
`mend`, for the members that msgspec cannot judge; and msgspec, which checks every type and
range. Facts: protocol, notation and reader rules.

What the libraries give by themselves (tests/wire/test_json.py holds each): orjson refuses lone
surrogates, NaN, a byte order mark and text after the value, and takes the last of two equal
keys; msgspec takes no fraction, boolean or text for an integer, and ignores unknown members.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, overload

import msgspec
import orjson
from msgspec import Struct

from efr.wire.errors import BadValue
from efr.wire.event.base import UnknownEvent
from efr.wire.event.kinds import event_class
from efr.wire.mend import FORMS, Mender, NotKnown
from efr.wire.scalars import Params
from efr.wire.shared.connection import Capabilities

# The protocol's limit, in objects and lists around a value. It bounds the stack of every reader.
MAX_DEPTH: Final = 128

_SAID: Final = re.compile(r"(?P<why>.*) - at `(?P<where>\$[^`]*)`", re.DOTALL)

T = TypeVar("T")

# --- writing ---------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """Compact JSON of a declared value, or of plain JSON values.

    Raises BadValue for text that is not valid Unicode, such as a path that is not UTF-8.
    """
    return _dumps(value, 0)


def to_builtins(value: Any) -> Any:
    """The value as dicts, lists, text, numbers and booleans, members in written order."""
    return orjson.loads(encode(value))


def pretty(value: Any) -> bytes:
    """JSON in the form of a fixture file: two spaces of indent, one line feed at the end.

    Raises BadValue as `encode` does.
    """
    return _dumps(value, orjson.OPT_INDENT_2) + b"\n"


def _dumps(value: Any, option: int) -> bytes:
    try:
        return orjson.dumps(value, default=_plain, option=option)
    except TypeError as exc:
        raise BadValue("$", str(exc)) from exc


def _plain(value: Any) -> Any:
    """One level of what the JSON writer does not know by itself."""
    kind: Any = type(value)
    return _writer(kind)(value)


@cache
def _writer(kind: type) -> Callable[[Any], Any]:
    if issubclass(kind, Capabilities):
        return _plain_capabilities
    if issubclass(kind, UnknownEvent):
        return _plain_unknown_event
    if issubclass(kind, bytes):
        return _plain_bytes
    if issubclass(kind, Struct):
        return _members_of(kind)
    raise TypeError(f"no wire value: {kind.__name__}")


_NEVER: Final = object()  # equal to no member


def _members_of(kind: type[Struct], without: str = "") -> Callable[[Any], dict[str, Any]]:
    """The writer of a declared type: its tag, and its members in order, as presence says."""
    names, attributes = kind.__struct_encode_fields__, kind.__struct_fields__
    defaults = kind.__struct_defaults__
    required = (msgspec.NODEFAULT,) * (len(names) - len(defaults))
    plan = tuple(
        (attribute, name, _NEVER if _always_written(default) else default)
        for attribute, name, default in zip(attributes, names, required + defaults, strict=True)
        if attribute != without
    )
    tag = kind.__struct_config__.tag
    start = {} if tag is None else {"kind": tag}

    def write(value: Any) -> dict[str, Any]:
        out = start.copy()
        for attribute, name, left_out in plan:
            member = getattr(value, attribute)
            if member is not left_out and member != left_out:
                out[name] = member
        return out

    return write


def _always_written(default: Any) -> bool:
    """R has no default; D has a factory."""
    return default is msgspec.NODEFAULT or hasattr(default, "factory")


def _plain_bytes(value: bytes) -> str:
    return b64encode(value).decode("ascii")


def _plain_unknown_event(value: UnknownEvent) -> dict[str, Any]:
    others = value.members
    return {"kind": value.kind} | {key: others[key] for key in others if key != "kind"}


_known_capabilities = _members_of(Capabilities, without="others")


def _plain_capabilities(value: Capabilities) -> dict[str, Any]:
    others = value.others
    return _known_capabilities(value) | {key: others[key] for key in sorted(others)}


# --- reading ---------------------------------------------------------------------------------


def read_json(body: bytes) -> Any:
    """Plain JSON under the protocol's reader rules. Raises BadValue."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as exc:
        raise BadValue("$", f"not JSON: {exc}") from exc
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH and _depth_exceeds(value, MAX_DEPTH):
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
    mender = _OF_PARAMS if isinstance(kind, type) and issubclass(kind, Params) else _OF_OTHERS
    mend = mender.of(kind)
    try:
        plain = value if mend is None else mend(value)
        return msgspec.convert(plain, _told_by_kind(plain, kind))
    except NotKnown as exc:
        raise BadValue("$", "an unknown value outside a union") from exc
    except msgspec.ValidationError as exc:
        raise _bad_value(str(exc)) from exc


def _bad_value(said: str) -> BadValue:
    """What msgspec says, which may quote text of the value and then ends with the path."""
    found = _SAID.fullmatch(said)
    return BadValue(found["where"], found["why"]) if found else BadValue("$", said)


def _told_by_kind(plain: Any, kind: Any) -> Any:
    """The one type of a union that the value is of, where its `kind` says so.

    msgspec looks at a whole union again for every call; this saves it most of the work.
    """
    by_tag = _by_tag(kind)
    tag = plain.get("kind") if by_tag and type(plain) is dict else None
    return by_tag.get(tag, kind) if type(tag) is str else kind


@cache
def _by_tag(kind: Any) -> dict[Any, type[Struct]]:
    """The types of a union by their tag; nothing for any other type."""
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    return {
        option.__struct_config__.tag: option for option in options if issubclass(option, Struct)
    }


def decode_event_object(value: Any) -> Any:
    """The event of a plain JSON object; an UnknownEvent for a kind this version does not know."""
    if type(value) is not dict:
        raise BadValue("$", "an event is an object")
    kind = value.get("kind")
    if type(kind) is not str:
        raise BadValue("$.kind", "an event has a kind")
    known = event_class(kind)
    if known is None:
        return UnknownEvent(kind, {key: value[key] for key in value if key != "kind"})
    return from_builtins(value, known)


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


_FORMS: Final = {**FORMS, "event": decode_event_object}
_OF_PARAMS: Final = Mender(strict=True, forms=_FORMS)
_OF_OTHERS: Final = Mender(strict=False, forms=_FORMS)
