"""Small steps that every rule takes: the typed event of an entry, and a column's JSON text."""

from __future__ import annotations

from typing import TypeVar

from efr.store.batch import Entry
from efr.wire import codec

E = TypeVar("E")


def event_of(entry: Entry, kind: type[E]) -> E:
    """The event, which the table of rules says is of that type."""
    assert isinstance(entry.event, kind)
    return entry.event


def json_of(value: object) -> str:
    """What a JSON column holds."""
    return codec.encode(value).decode()
