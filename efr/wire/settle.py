"""What is left to do with a value that msgspec made: the form of its ids and times, its events.

A settler takes such a value and gives it back, changed where ids and times came in another form
than the written one, and with events in place of their plain objects. Nobody has seen the value
yet, so its frozen members may be set. Settlers are built from the declared types when a type is
first met; most types need none. Pure; any thread.

Facts: protocol, reader rules and scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import NoneType
from typing import Any, Final, TypeAlias, get_args

from msgspec import Meta, Struct
from msgspec.structs import force_setattr

from efr.wire.hints import hints_of
from efr.wire.ids import canonical_job_id, canonical_uuid
from efr.wire.misfits import MISFITS, bad_value
from efr.wire.times import canonical_time
from efr.wire.walk import Walk

# Gives the value back, or another; raises one of MISFITS.
Settler: TypeAlias = Callable[[Any], Any]

_NEVER: Final = object()  # the value of no member
_SEEN_LIMIT: Final = 4096  # ids; some 400 kB


class _SeenIds(set[Any]):
    """Ids in their written form, and None: the frames of a conversation name the same few again."""

    def settle(self, text: str) -> str:
        """The written form of an id. Raises ValueError."""
        if text in self:
            return text
        written = canonical_uuid(text)
        if len(self) >= _SEEN_LIMIT:
            self.intersection_update((None,))  # one step: no other thread sees it without None
        self.add(written)
        return written


_SEEN: Final = _SeenIds((None,))


class Settlers(Walk[Settler]):
    """The settler of each declared type; None: its values are as they shall be."""

    def __init__(self, event: Settler) -> None:
        super().__init__()
        self._forms: dict[str, Settler] = {
            "uuid": _SEEN.settle,
            "job": canonical_job_id,
            "time": canonical_time,
            "event": event,
        }

    def listed(self, elements: tuple[Any, ...]) -> Settler | None:
        return _each(self[elements[0]])

    def annotated(self, hint: Any) -> Settler | None:
        base, *notes = get_args(hint)
        extras = [note.extra for note in notes if isinstance(note, Meta) and note.extra]
        forms = [
            self._forms[form] for extra in extras if (form := extra.get("form")) in self._forms
        ]
        return forms[0] if forms else self[base]

    def union(self, options: list[Any]) -> Settler | None:
        settlers = {option: self[option] for option in options}
        if not any(settlers.values()):
            return None

        def settle(value: Any) -> Any:
            inner = settlers[type(value)]
            return value if inner is None else inner(value)

        return settle

    def object(self, kind: type[Struct]) -> Settler | None:
        hints = hints_of(kind)
        members = [
            _Member(attribute, name, None if NoneType in get_args(hint) else _NEVER, settler)
            for attribute, name in zip(
                kind.__struct_fields__, kind.__struct_encode_fields__, strict=True
            )
            if (settler := self[hint := hints[attribute]]) is not None
        ]
        return _members(members) if members else None


class _Member(Struct, frozen=True):
    attribute: str
    name: str  # as it is written, for a path
    absent: Any  # its value when it is not there
    settle: Settler


def _members(members: Sequence[_Member]) -> Settler:
    """Ids first and by themselves: nearly every value has some, and nearly all were seen before."""
    ids = [(m.attribute, m.name) for m in members if m.settle == _SEEN.settle]
    others = [
        (m.attribute, m.name, m.absent, m.settle) for m in members if m.settle != _SEEN.settle
    ]

    def settle(value: Any) -> Any:
        name = ""
        try:
            for attribute, name in ids:  # noqa: B007 - the name is for the path of a fault
                if (id := getattr(value, attribute)) not in _SEEN:
                    force_setattr(value, attribute, _SEEN.settle(id))
            for attribute, name, absent, inner in others:  # noqa: B007
                member = getattr(value, attribute)
                if member is not absent and (settled := inner(member)) is not member:
                    force_setattr(value, attribute, settled)
        except MISFITS as misfit:
            raise bad_value(misfit, f".{name}") from misfit
        return value

    return settle


def _each(inner: Settler | None) -> Settler | None:
    if inner is None:
        return None

    def settle(values: tuple[Any, ...]) -> tuple[Any, ...]:
        settled: list[Any] = []
        try:
            settled.extend(map(inner, values))
        except MISFITS as misfit:
            raise bad_value(misfit, f"[{len(settled)}]") from misfit
        return tuple(settled)

    return settle
