"""What msgspec cannot judge in a plain value: ids, times, base64, open sets, capabilities, events.

A mend takes the plain value of a declared type and gives it back, or a changed copy, or raises
BadValue. It leaves a value of a wrong type alone: msgspec refuses it, and says where. Mends are
built from the declared types when a type is first met. Pure; any thread.

Facts: protocol, reader rules.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from enum import EnumType
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct

from efr.wire.errors import BadValue
from efr.wire.ids import canonical_job_id, canonical_uuid
from efr.wire.shared.connection import Capabilities
from efr.wire.times import canonical_time

Mend: TypeAlias = Callable[[Any], Any]

_ABSENT: Final = object()
_CAPABILITIES: Final = tuple(name for name in Capabilities.__struct_fields__ if name != "others")


class NotKnown(Exception):
    """A member makes the whole object of a union unknown."""


class Mender:
    """The mends of all types, for one side.

    With `strict`, a value that an open set does not hold is refused, and so is `unknown`: that
    is how params are read. `forms` says how scalars of a form are read.
    """

    def __init__(self, *, strict: bool, forms: Mapping[str, Mend]) -> None:
        self._strict = strict
        self._forms = forms
        self.of = cache(self._of)

    def _of(self, hint: Any) -> Mend | None:
        """What to do with a value of a declared type; None: nothing."""
        origin = get_origin(hint)
        if origin is Annotated:
            return self._annotated(hint)
        if origin is Union or origin is UnionType:
            options = [option for option in get_args(hint) if option is not NoneType]
            return self._tagged(options) if len(options) > 1 else self.of(options[0])
        if origin is tuple:
            return self._listed(get_args(hint))
        if isinstance(hint, type) and issubclass(hint, Struct):
            return self._object(hint)
        if isinstance(hint, EnumType) and "UNKNOWN" in hint.__members__:
            return self._open_set(_values(hint))
        return None

    def _annotated(self, hint: Any) -> Mend | None:
        base, *notes = get_args(hint)
        for note in notes:
            extra = note.extra if isinstance(note, Meta) and note.extra else {}
            if "form" in extra:
                return self._forms[extra["form"]]
            if "else" in extra:
                return _known_or_else(_values(base))
        return self.of(base)

    def _object(self, kind: type[Struct]) -> Mend | None:
        if kind is Capabilities:
            return _capabilities
        hints = get_type_hints(kind, include_extras=True)
        names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        members = tuple(
            (name, mend)
            for attribute, name in names
            if (mend := self.of(hints[attribute])) is not None
        )
        return _members(members) if members else None

    def _listed(self, elements: tuple[Any, ...]) -> Mend | None:
        if elements[-1] is not Ellipsis:
            return None  # the lists of fixed length hold closed values alone
        mend = self.of(elements[0])
        return None if mend is None else _each(mend)

    def _tagged(self, options: Iterable[Any]) -> Mend | None:
        mends = {option.__struct_config__.tag: self.of(option) for option in options}
        is_open = "unknown" in mends
        if not is_open and not any(mends.values()):
            return None
        strict = self._strict

        def mend(value: Any) -> Any:
            kind = value.get("kind") if type(value) is dict else None
            if type(kind) is not str:
                return value
            if is_open and strict and kind == "unknown":
                raise BadValue("$.kind", "unknown is no value of one's own")
            if kind not in mends:
                return {"kind": "unknown"} if is_open and not strict else value
            inner = mends[kind]
            try:
                return value if inner is None else inner(value)
            except NotKnown:
                return {"kind": "unknown"}

        return mend

    def _open_set(self, values: frozenset[str]) -> Mend:
        strict = self._strict

        def mend(value: Any) -> Any:
            if strict and value == "unknown":
                raise BadValue("$", "unknown is no value of one's own")
            if strict or type(value) is not str or value in values:
                return value
            return "unknown"

        return mend


def _values(closed: Iterable[Any]) -> frozenset[str]:
    return frozenset(member.value for member in closed)


def _members(members: tuple[tuple[str, Mend], ...]) -> Mend:
    def mend(value: Any) -> Any:
        if type(value) is not dict:
            return value
        copy: dict[str, Any] | None = None
        for name, inner in members:
            member = value.get(name, _ABSENT)
            if member is _ABSENT:
                continue
            mended = _at(f".{name}", inner, member)
            if mended is not member:
                copy = copy or dict(value)
                copy[name] = mended
        return value if copy is None else copy

    return mend


def _each(inner: Mend) -> Mend:
    def mend(value: Any) -> Any:
        if type(value) is not list:
            return value
        return [_at(f"[{index}]", inner, element) for index, element in enumerate(value)]

    return mend


def _at(step: str, inner: Mend, value: Any) -> Any:
    try:
        return inner(value)
    except BadValue as bad:
        raise BadValue(f"${step}{bad.where[1:]}", bad.why) from bad


def _known_or_else(values: frozenset[str]) -> Mend:
    def mend(value: Any) -> Any:
        if type(value) is str and value not in values:
            raise NotKnown
        return value

    return mend


def _capabilities(value: Any) -> Any:
    if type(value) is not dict:
        return value
    known = {key: value[key] for key in _CAPABILITIES if key in value}
    return known | {"others": {key: value[key] for key in value if key not in _CAPABILITIES}}


def _one_key(value: Any) -> Any:
    if type(value) is dict and len(value) != 1:
        raise BadValue("$", "an object with exactly one key")
    return value


def _text_form(canonical: Callable[[str], str]) -> Mend:
    def mend(value: Any) -> Any:
        if type(value) is not str:
            return value
        try:
            return canonical(value)
        except ValueError as exc:
            raise BadValue("$", str(exc)) from exc

    return mend


def _canonical_base64(text: str) -> str:
    """Standard base64 with padding, as a writer writes it. Raises ValueError for other text."""
    if b64encode(b64decode(text, validate=True)).decode("ascii") != text:
        raise ValueError("not canonical base64")
    return text


FORMS: Final[Mapping[str, Mend]] = {
    "uuid": _text_form(canonical_uuid),
    "job": _text_form(canonical_job_id),
    "time": _text_form(canonical_time),
    "base64": _text_form(_canonical_base64),
    "one_key": _one_key,
}
