"""Reading the values that a server sent: of any type, whatever its API promises. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from efr.providers.canonical import Json
from efr.providers.errors import DecodeFailed
from efr.providers.provider_json import NotJson, parse
from efr.providers.sse import ServerEvent

HIDDEN: Final = "[hidden]"
_COUNT_MAX: Final = 2**53  # what every reader of JSON keeps exact; sums stay below the wire's u64

Event = Mapping[str, Json]


def read_object(event: ServerEvent) -> Event:
    """The event's data. Raises DecodeFailed when it is no JSON object."""
    try:
        value = parse(event.data)
    except NotJson as exc:
        raise DecodeFailed(str(exc)) from exc
    if not isinstance(value, dict):
        raise DecodeFailed("an event that is no object")
    return value


def is_object(text: str) -> bool:
    """Whether the text is a whole JSON object, as the arguments of a call should be."""
    try:
        return isinstance(parse(text), dict)
    except NotJson:
        return False


def count(value: Event, name: str) -> int:
    """A count of tokens; anything else than a number is 0."""
    member = value.get(name)
    if isinstance(member, bool) or not isinstance(member, int | float):
        return 0
    return min(max(int(member), 0), _COUNT_MAX)


def string(value: Event, name: str) -> str:
    """The text under that name; empty for anything else."""
    return text(value, name) or ""


def text(value: Event, name: str) -> str | None:
    """The text under that name; None for anything else, and when it is empty."""
    member = value.get(name)
    return member if isinstance(member, str) and member else None


def size(value: Event, name: str) -> int | None:
    """A limit in tokens: a whole number above 0; None for anything else."""
    member = value.get(name)
    if isinstance(member, bool) or not isinstance(member, int) or member <= 0:
        return None
    return member


def object_of(value: Event, name: str) -> Event:
    """The object under that name; empty for anything else."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def objects_of(value: Event, name: str) -> list[Event]:
    """The objects of the list under that name."""
    found = value.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def safe_url(url: str) -> str:
    """The URL without user info and without the values of its query; empty when it is none."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    query = urlencode([(name, HIDDEN) for name, _ in parse_qsl(parts.query, True)], safe="[]")
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query).geturl()
