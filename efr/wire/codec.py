"""JSON in and out: the one module that knows orjson and msgspec's conversion. Any thread.

`scalars` says how presence is declared. Reading goes through three steps: the JSON reader; a
walk over the members that msgspec cannot judge (ids, times, base64, open sets, events); and
msgspec, which checks every type and range. Facts: protocol, notation and reader rules.

What the libraries give by themselves (tests/wire/test_json.py holds each): orjson refuses lone
surrogates, NaN, a byte order mark and text after the value, and takes the last of two equal
keys; msgspec takes no fraction, boolean or text for an integer, and ignores unknown members.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable
from enum import EnumType
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import msgspec
import orjson
from msgspec import Meta, Struct

from efr.wire.errors import BadValue
from efr.wire.event.base import UnknownEvent
from efr.wire.event.kinds import event_class
from efr.wire.ids import canonical_job_id, canonical_uuid
from efr.wire.scalars import Params
from efr.wire.shared.connection import Capabilities
from efr.wire.shared.screen import Color
from efr.wire.times import canonical_time

# The protocol's limit, in objects and lists around a value. It bounds the stack of every reader.
MAX_DEPTH: Final = 128

T = TypeVar("T")
_Mend = Callable[[Any], Any]

# --- writing ---------------------------------------------------------------------------------


def encode(value: Any) -> bytes:
    """Compact JSON of a declared value, or of plain JSON values.

    Raises BadValue for text that is not valid Unicode, such as a path that is not UTF-8.
    """
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError as exc:
        raise BadValue("$", str(exc)) from exc


def to_builtins(value: Any) -> Any:
    """The value as dicts, lists, text, numbers and booleans, members in written order."""
    return orjson.loads(encode(value))


def pretty(value: Any) -> bytes:
    """JSON in the form of a fixture file: two spaces of indent, one line feed at the end."""
    text = orjson.dumps(value, default=_plain, option=orjson.OPT_INDENT_2)
    return text + b"\n"


def _plain(value: Any) -> Any:
    """One level of what the JSON writer does not know by itself."""
    if isinstance(value, bytes):
        return b64encode(value).decode("ascii")
    if isinstance(value, UnknownEvent):
        others = value.members
        return {"kind": value.kind} | {key: others[key] for key in others if key != "kind"}
    if isinstance(value, Capabilities):
        return _members(value) | {key: value.others[key] for key in sorted(value.others)}
    if isinstance(value, Struct):
        return _members(value)
    raise TypeError(f"no wire value: {type(value).__name__}")


def _members(value: Struct) -> dict[str, Any]:
    tag, plan = _written(type(value))
    out: dict[str, Any] = {} if tag is None else {"kind": tag}
    for attribute, name, left_out in plan:
        member = getattr(value, attribute)
        if member is not left_out and member != left_out:
            out[name] = member
    return out


_NEVER: Final = object()  # equal to no member


@cache
def _written(kind: type[Struct]) -> tuple[Any, tuple[tuple[str, str, Any], ...]]:
    """The tag, and per member its attribute, its name and the value that is left out."""
    names, attributes = kind.__struct_encode_fields__, kind.__struct_fields__
    defaults = kind.__struct_defaults__
    required = (msgspec.NODEFAULT,) * (len(names) - len(defaults))
    return kind.__struct_config__.tag, tuple(
        (attribute, name, _NEVER if _always_written(default) else default)
        for attribute, name, default in zip(attributes, names, required + defaults, strict=True)
        if attribute != "others" or kind is not Capabilities
    )


def _always_written(default: Any) -> bool:
    """R has no default; D has a factory."""
    return default is msgspec.NODEFAULT or hasattr(default, "factory")


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
    mend = _mend_of(kind)
    try:
        return msgspec.convert(value if mend is None else mend(value), kind)
    except _NotKnown as exc:
        raise BadValue("$", "an unknown value outside a union") from exc
    except msgspec.ValidationError as exc:
        why, _, where = str(exc).partition(" - at `")
        raise BadValue(where.removesuffix("`") or "$", why) from exc


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


# --- the walk --------------------------------------------------------------------------------
# A mend takes a plain value and gives it back, or a changed copy, or raises BadValue. It leaves
# values of a wrong type alone: msgspec refuses them, and says where.


class _NotKnown(Exception):
    """A member makes the whole object unknown."""


@cache
def _mend_of(kind: Any) -> _Mend | None:
    strict = isinstance(kind, type) and issubclass(kind, Params)
    return _mend(kind, strict)


def _mend(hint: Any, strict: bool) -> _Mend | None:
    """What to do with a value of a declared type before msgspec sees it; None: nothing."""
    origin = get_origin(hint)
    if origin is Annotated:
        return _annotated(hint, strict)
    if origin is Union or origin is UnionType:
        options = tuple(option for option in get_args(hint) if option is not NoneType)
        return _tagged(options, strict) if len(options) > 1 else _mend(options[0], strict)
    if origin is tuple:
        return _listed(get_args(hint), strict)
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _object(hint, strict)
    if isinstance(hint, EnumType) and "UNKNOWN" in hint.__members__:
        return _open_set(_values(hint), strict)
    return None


def _annotated(hint: Any, strict: bool) -> _Mend | None:
    base, *notes = get_args(hint)
    for note in notes:
        extra = note.extra if isinstance(note, Meta) and note.extra else {}
        if "form" in extra:
            return _FORMS[extra["form"]]
        if "else" in extra:
            return _known_or_else(_values(base))
    return _mend(base, strict)


def _object(kind: type[Struct], strict: bool) -> _Mend | None:
    if kind is Capabilities:
        return _capabilities
    hints = get_type_hints(kind, include_extras=True)
    pairs = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    members = tuple(
        (name, mend)
        for attribute, name in pairs
        if (mend := _mend(hints[attribute], strict)) is not None
    )
    if kind is Color:
        return _one_key
    return _walk(members) if members else None


def _walk(members: tuple[tuple[str, _Mend], ...]) -> _Mend:
    def walk(value: Any) -> Any:
        if type(value) is not dict:
            return value
        copy: dict[str, Any] | None = None
        for name, mend in members:
            member = value.get(name, _NEVER)
            if member is _NEVER:
                continue
            mended = _at(f".{name}", mend, member)
            if mended is not member:
                copy = copy or dict(value)
                copy[name] = mended
        return value if copy is None else copy

    return walk


def _listed(elements: tuple[Any, ...], strict: bool) -> _Mend | None:
    if elements[-1] is not Ellipsis:
        return None  # the fixed lists hold closed values alone
    mend = _mend(elements[0], strict)
    if mend is None:
        return None

    def walk(value: Any) -> Any:
        if type(value) is not list:
            return value
        return [_at(f"[{index}]", mend, element) for index, element in enumerate(value)]

    return walk


def _tagged(options: tuple[Any, ...], strict: bool) -> _Mend | None:
    mends = {option.__struct_config__.tag: _mend(option, strict) for option in options}
    is_open = "unknown" in mends
    if not is_open and not any(mends.values()):
        return None

    def walk(value: Any) -> Any:
        kind = value.get("kind") if type(value) is dict else None
        if type(kind) is not str:
            return value
        if is_open and strict and kind == "unknown":
            raise BadValue("$.kind", "unknown is no value of one's own")
        if kind not in mends:
            return {"kind": "unknown"} if is_open and not strict else value
        mend = mends[kind]
        try:
            return value if mend is None else mend(value)
        except _NotKnown:
            return {"kind": "unknown"}

    return walk


def _open_set(values: frozenset[str], strict: bool) -> _Mend:
    def read(value: Any) -> Any:
        if type(value) is not str or value in values:
            if strict and value == "unknown":
                raise BadValue("$", "unknown is no value of one's own")
            return value
        return value if strict else "unknown"

    return read


def _values(closed: Iterable[Any]) -> frozenset[str]:
    return frozenset(member.value for member in closed)


def _known_or_else(values: frozenset[str]) -> _Mend:
    def read(value: Any) -> Any:
        if type(value) is str and value not in values:
            raise _NotKnown
        return value

    return read


def _capabilities(value: Any) -> Any:
    if type(value) is not dict:
        return value
    known = {key: value[key] for key in _CAPABILITIES if key in value}
    return known | {"others": {key: value[key] for key in value if key not in _CAPABILITIES}}


def _one_key(value: Any) -> Any:
    if type(value) is dict and len(value) != 1:
        raise BadValue("$", "a colour has exactly one key")
    return value


def _at(step: str, mend: _Mend, value: Any) -> Any:
    try:
        return mend(value)
    except BadValue as bad:
        raise BadValue(f"${step}{bad.where[1:]}", bad.why) from bad


def _text_form(canonical: Callable[[str], str]) -> _Mend:
    def read(value: Any) -> Any:
        if type(value) is not str:
            return value
        try:
            return canonical(value)
        except ValueError as exc:
            raise BadValue("$", str(exc)) from exc

    return read


def _canonical_base64(text: str) -> str:
    """Standard base64 with padding, as a writer writes it. Raises ValueError for other text."""
    if b64encode(b64decode(text, validate=True)).decode("ascii") != text:
        raise ValueError("not canonical base64")
    return text


_CAPABILITIES: Final = tuple(name for name in Capabilities.__struct_fields__ if name != "others")
_FORMS: Final[dict[str, _Mend]] = {
    "uuid": _text_form(canonical_uuid),
    "job": _text_form(canonical_job_id),
    "time": _text_form(canonical_time),
    "base64": _text_form(_canonical_base64),
    "event": decode_event_object,
}
