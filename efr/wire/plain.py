"""What msgspec cannot write by itself: equal defaults, capabilities, events of an unknown kind.

A plan takes a value of a declared type and gives it back, or what msgspec shall write in its
place. It is the counterpart of a mend (`mend`) and built in the same way: from the declared type,
when that is first met. Pure; any thread.

msgspec leaves a member out when its value *is* the default. Numbers, None and the empty tuple are
one object each; for a struct that equals the default (presence E) a plan puts the default in.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, get_args, get_origin

from msgspec import Struct
from msgspec.structs import replace

from efr.wire.event.base import UnknownEvent
from efr.wire.hints import hints_of, is_struct
from efr.wire.shared.connection import Capabilities

Plan: TypeAlias = Callable[[Any], Any]

_KNOWN: Final = tuple(name for name in Capabilities.__struct_fields__ if name != "others")


class _Plans(dict[Any, "Plan | None"]):
    """The plan of each declared type; None: msgspec writes its values as they are."""

    def __missing__(self, hint: Any) -> Plan | None:
        self[hint] = found = _plan(hint)
        return found


PLANS: Final = _Plans()


def _plan(hint: Any) -> Plan | None:
    origin = get_origin(hint)
    if origin is Annotated:
        return PLANS[get_args(hint)[0]]
    if origin is Union or origin is UnionType:
        return _by_value if any(PLANS[option] for option in get_args(hint)) else None
    if origin is tuple:
        return _each(PLANS[get_args(hint)[0]])
    if hint is list or hint is tuple:
        return _each(_by_value)
    if hint is Any:
        return _by_value
    return _of_struct(hint) if is_struct(hint) else None


def _by_value(value: Any) -> Any:
    """As the type of the value says."""
    plan = PLANS[type(value)]
    return value if plan is None else plan(value)


def _each(plan: Plan | None) -> Plan | None:
    return None if plan is None else lambda values: [plan(value) for value in values]


def _of_struct(kind: type[Struct]) -> Plan | None:
    if kind is Capabilities:
        return _capabilities
    if kind is UnknownEvent:
        return _unknown_event
    hints = hints_of(kind)
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    default_of = dict(zip(reversed(names), reversed(defaults), strict=False))
    plans = {name: _of_member(PLANS[hints[name]], default_of.get(name)) for name in names}
    return _of_members(
        tuple(
            (name, None if plan is _by_value else plan)
            for name, plan in plans.items()
            if plan is not None
        )
    )


def _of_member(plan: Plan | None, default: Any) -> Plan | None:
    if not isinstance(default, Struct):
        return plan

    def or_default(value: Any) -> Any:
        if value == default:
            return default
        return value if plan is None else plan(value)

    return or_default


def _of_members(plans: tuple[tuple[str, Plan | None], ...]) -> Plan | None:
    """Of members with a plan each, or None: as the type of the value says."""

    def of_members(value: Any) -> Any:
        for name, always in plans:
            before = getattr(value, name)
            plan = always or PLANS[type(before)]
            if plan is not None and (after := plan(before)) is not before:
                value = replace(value, **{name: after})
        return value

    if not plans:
        return None
    return _of_one_event(plans[0][0]) if plans[0][1] is None and len(plans) == 1 else of_members


def _of_one_event(name: str) -> Plan:
    """The same for one member without a plan of its own: every event that a client follows."""
    member_of = attrgetter(name)

    def of_one(value: Any) -> Any:
        before = member_of(value)
        plan = PLANS[type(before)]
        if plan is None or (after := plan(before)) is before:
            return value
        return replace(value, **{name: after})

    return of_one


def _capabilities(value: Capabilities) -> dict[str, Any]:
    known = {name: has for name in _KNOWN if (has := getattr(value, name)) is not None}
    others = value.others
    return known | {key: others[key] for key in sorted(others)}


def _unknown_event(value: UnknownEvent) -> dict[str, Any]:
    others = value.members
    return {"kind": value.kind} | {key: others[key] for key in others if key != "kind"}
