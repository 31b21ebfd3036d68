"""What the declared types say about themselves, for the documents made from them. Pure.

`codec` and `mend` read the same declarations to do their work; here they are told in one form:
the members of a type in written order, how each is present, and the names of scalars and unions.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, EnumType
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct

from efr.wire import events, frames, methods, types
from efr.wire.codec import to_builtins
from efr.wire.event.union import EVENTS, Event
from efr.wire.hints import is_struct
from efr.wire.notes import notes_of
from efr.wire.shared.connection import Capabilities

EVENT_TYPES: Final = frozenset(EVENTS.values())
_UNIONS: Final = (Union, UnionType)


class Presence(Enum):
    """When a writer writes a member (protocol, notation)."""

    ALWAYS = "always"
    OPTIONAL = "optional"
    WHEN_TRUE = "when true"
    WHEN_NOT_EMPTY = "when not empty"
    UNLESS_DEFAULT = "unless"  # an integer, left out when it is the default
    ALWAYS_ELSE = "always, else"  # written always; a reader takes the default for an absent one


class Member(Struct, frozen=True):
    """One member of a declared type. `default` is plain JSON; None without one."""

    name: str
    hint: Any
    presence: Presence
    default: Any
    note: str


def members_of(kind: type[Struct]) -> Iterator[Member]:
    """The members in written order, without the tag."""
    hints = get_type_hints(kind, include_extras=True)
    notes = notes_of(kind)
    defaults = kind.__struct_defaults__
    required = (NODEFAULT,) * (len(kind.__struct_fields__) - len(defaults))
    names = zip(
        kind.__struct_fields__, kind.__struct_encode_fields__, required + defaults, strict=True
    )
    for attribute, name, default in names:
        if kind is Capabilities and attribute == "others":
            continue
        hint = hints[attribute]
        yield Member(
            name,
            without_none(hint),
            _presence(hint, default),
            None if default is NODEFAULT else _plain(default),
            notes.get(attribute, ""),
        )


def _presence(hint: Any, default: Any) -> Presence:
    if default is NODEFAULT or "const" in extra_of(hint):
        return Presence.ALWAYS
    if default is None:
        return Presence.OPTIONAL
    if hasattr(default, "factory"):
        return Presence.ALWAYS_ELSE
    if default is False:
        return Presence.WHEN_TRUE
    return Presence.UNLESS_DEFAULT if isinstance(default, int) else Presence.WHEN_NOT_EMPTY


def _plain(default: Any) -> Any:
    return to_builtins(default.factory() if hasattr(default, "factory") else default)


def without_none(hint: Any) -> Any:
    """The type of a member's values, for one that may be absent."""
    if get_origin(hint) not in _UNIONS or NoneType not in get_args(hint):
        return hint
    return Union[tuple(kind for kind in get_args(hint) if kind is not NoneType)]  # noqa: UP007


def extra_of(hint: Any) -> dict[str, Any]:
    """What a scalar's declaration adds to its plain type."""
    found: dict[str, Any] = {}
    for note in hint.__metadata__ if get_origin(hint) is Annotated else ():
        if isinstance(note, Meta) and note.extra:
            found |= note.extra
    return found


def scalar_name(hint: Any) -> str | None:
    """The name of a scalar that has one of its own, such as `TurnId`."""
    name: str | None = extra_of(hint).get("name")
    return name


def scalar_about(hint: Any) -> str:
    """What a named scalar is."""
    notes = [note.description for note in hint.__metadata__ if isinstance(note, Meta)]
    return notes[0] or ""


def kinds_of(hint: Any) -> tuple[Any, ...]:
    """The kinds of a union; nothing for any other type."""
    return get_args(hint) if get_origin(hint) in _UNIONS else ()


def is_set(kind: Any) -> bool:
    """Whether it is a set of values."""
    return isinstance(kind, EnumType)


def is_open(kind: Any) -> bool:
    """Whether a reader takes a value it does not know as `unknown`."""
    if is_set(kind):
        return "UNKNOWN" in kind.__members__
    return any(tag_of(option) == "unknown" for option in kinds_of(kind))


def tag_of(kind: Any) -> str | None:
    """The `kind` of one kind of a union."""
    tag = kind.__struct_config__.tag if is_struct(kind) else None
    return None if tag is None else str(tag)


def name_of(kind: Any) -> str:
    """The name of a declared type or union. A result of two names is told by `Event` behind it."""
    if kinds_of(kind):
        return _UNION_NAMES[frozenset(kinds_of(kind))]
    return f"{kind.__name__}Event" if kind in EVENT_TYPES else str(kind.__name__)


def exported(module: Any) -> Iterator[tuple[str, str, Any]]:
    """Home module, name and value of everything that `types`, `events` or `methods` export."""
    for home, names in module.HOMES.items():
        for name in names:
            yield home, name, getattr(module, name)


def _union_names() -> dict[frozenset[Any], str]:
    named = {
        "Event": Event,
        "ClientFrame": frames.ClientFrame,
        "ServerFrame": frames.ServerFrame,
    }
    for module in (types, methods, events):
        named |= {name: value for _home, name, value in exported(module) if kinds_of(value)}
    return {frozenset(kinds_of(kind)): name for name, kind in named.items()}


_UNION_NAMES: Final = _union_names()
