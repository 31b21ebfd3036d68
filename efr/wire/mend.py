"""What msgspec misjudges in a plain value: newer values of open sets, base64, capabilities.

A mend takes the plain value of a declared type and gives it back, or a changed copy, or raises
BadValue. It leaves a value of a wrong type alone: msgspec refuses it, and says where. Mends are
built from the declared types when a type is first met; most types need none. Pure; any thread.

Facts: protocol, reader rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, EnumType
from types import NoneType
from typing import Any, Final, TypeAlias, get_args

from msgspec import Meta, Struct

from efr.wire.errors import BadValue
from efr.wire.hints import hints_of, is_struct
from efr.wire.misfits import NotKnown, bad_value
from efr.wire.shared.connection import Capabilities
from efr.wire.walk import Walk

Mend: TypeAlias = Callable[[Any], Any]

_ABSENT: Final = object()
_CAPABILITIES: Final = tuple(name for name in Capabilities.__struct_fields__ if name != "others")


class Unknown(Enum):
    """What becomes of a value that an open set or union does not hold, and of `unknown`."""

    REFUSED = "refused"  # in params
    LEFT = "left"  # msgspec refuses a newer value: a first try, for values without one
    READ = "read"  # a newer value is read as `unknown`


class Mends(Walk[Mend]):
    """What to do with plain values of each declared type; None: nothing."""

    def __init__(self, unknown: Unknown) -> None:
        super().__init__()
        self._unknown = unknown

    def plain(self, hint: Any) -> Mend | None:
        if isinstance(hint, EnumType) and "UNKNOWN" in hint.__members__:
            return self._open_set(_values(hint))
        return None

    def annotated(self, hint: Any) -> Mend | None:
        base, *notes = get_args(hint)
        for note in notes:
            extra = note.extra if isinstance(note, Meta) and note.extra else {}
            if extra.get("form") in _FORMS:
                return _FORMS[extra["form"]]
            if extra.get("name") == "Path" and self._unknown is Unknown.REFUSED:
                return _no_nul
            if "else" in extra:
                return _known_or_else(_values(base)) if self._unknown is Unknown.READ else None
        return self[base]

    def object(self, kind: type[Struct]) -> Mend | None:
        if kind is Capabilities:
            return _capabilities
        hints = hints_of(kind)
        names = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
        members = tuple(
            (name, mend)
            for attribute, name in names
            if (mend := self._member(hints[attribute])) is not None
        )
        return _members(members) if members else None

    def _member(self, hint: Any) -> Mend | None:
        """Of a member. One kind alone needs its tag as well, which msgspec asks of unions only."""
        options = [option for option in get_args(hint) if option is not NoneType] or [hint]
        alone: Any = options[0]
        if len(options) > 1 or not is_struct(alone) or alone.__struct_config__.tag is None:
            return self[hint]
        return _with_tag(alone.__struct_config__.tag, self[hint])

    def listed(self, elements: tuple[Any, ...]) -> Mend | None:
        if elements[-1] is not Ellipsis:
            return None  # the lists of fixed length hold closed values alone
        mend = self[elements[0]]
        return None if mend is None else _each(mend)

    def union(self, options: list[Any]) -> Mend | None:
        mends = {option.__struct_config__.tag: self[option] for option in options}
        reads = self._unknown is Unknown.READ and "unknown" in mends
        refuses = self._unknown is Unknown.REFUSED and "unknown" in mends
        if not (reads or refuses or any(mends.values())):
            return None

        def mend(value: Any) -> Any:
            kind = value.get("kind") if type(value) is dict else None
            if type(kind) is not str:
                return value
            if refuses and kind == "unknown":
                raise BadValue("$.kind", "unknown is no value of one's own")
            if kind not in mends:
                return {"kind": "unknown"} if reads else value
            inner = mends[kind]
            try:
                return value if inner is None else inner(value)
            except NotKnown:
                return {"kind": "unknown"}

        return mend

    def _open_set(self, values: frozenset[str]) -> Mend | None:
        return {
            Unknown.REFUSED: _refuse_unknown,
            Unknown.LEFT: None,
            Unknown.READ: lambda value: _known(value, values),
        }[self._unknown]


def _with_tag(tag: str, inner: Mend | None) -> Mend:
    def mend(value: Any) -> Any:
        if type(value) is dict and "kind" not in value:
            raise BadValue("$", f"`kind` is missing; it is `{tag}`")
        return value if inner is None else inner(value)

    return mend


def _values(closed: Iterable[Any]) -> frozenset[str]:
    return frozenset(member.value for member in closed)


def _no_nul(value: Any) -> Any:
    """No system call takes such a path, so no client may send one."""
    if type(value) is str and "\0" in value:
        raise BadValue("$", "a path holds no NUL character")
    return value


def _refuse_unknown(value: Any) -> Any:
    if value == "unknown":
        raise BadValue("$", "unknown is no value of one's own")
    return value


def _known(value: Any, values: frozenset[str]) -> Any:
    return value if type(value) is not str or value in values else "unknown"


def _members(members: tuple[tuple[str, Mend], ...]) -> Mend:
    def mend(value: Any) -> Any:
        if type(value) is not dict:
            return value
        copy: dict[str, Any] | None = None
        name = ""
        try:
            for name, inner in members:
                member = value.get(name, _ABSENT)
                if member is not _ABSENT and (mended := inner(member)) is not member:
                    copy = copy or dict(value)
                    copy[name] = mended
        except BadValue as bad:
            raise bad_value(bad, f".{name}") from bad
        return value if copy is None else copy

    return mend


def _each(inner: Mend) -> Mend:
    def mend(value: Any) -> Any:
        if type(value) is not list:
            return value
        mended: list[Any] = []
        try:
            mended.extend(map(inner, value))
        except BadValue as bad:
            raise bad_value(bad, f"[{len(mended)}]") from bad
        return mended

    return mend


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


def _canonical_base64(value: Any) -> Any:
    """Standard base64 with padding, as a writer writes it."""
    from base64 import b64decode, b64encode  # few frames have it

    if type(value) is not str:
        return value
    try:
        if b64encode(b64decode(value, validate=True)).decode("ascii") == value:
            return value
    except ValueError as exc:
        raise BadValue("$", str(exc)) from exc
    raise BadValue("$", "not canonical base64")


_FORMS: Final[Mapping[Any, Mend]] = {"base64": _canonical_base64, "one_key": _one_key}
