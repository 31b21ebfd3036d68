"""The base of all events, and the event of a kind that this version does not know."""

from typing import Any

from efr.wire.scalars import TurnId, Wire


def _kind(name: str) -> str:
    """`TurnStarted` is the kind `turn_started`."""
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).removeprefix("_")


class Recorded(Wire, frozen=True, tag_field="kind", tag=_kind):
    """An event of a known kind; the kind is the class's name in the protocol's spelling."""


class OfTurn(Recorded, frozen=True):
    """An event that belongs to a turn."""

    turn_id: TurnId


class UnknownEvent(Wire, frozen=True):
    """An event of a newer version: its kind and every other member, as they came.

    It belongs to no turn as far as this version knows.
    """

    kind: str
    members: dict[str, Any]
