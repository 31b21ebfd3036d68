"""Damaged fixtures of every type: a value, or BadValue that says where. Never anything else.

The damage knows the structure: parts are replaced, moved between types, doubled and taken out, and
then bytes are. Number n does the same damage on every machine, so a failure names the number that
shows it again. `EFR_FUZZ=N` does N of them; without it, as many as take a few seconds.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

import pytest

from efr.wire.codec import pretty
from efr.wire.errors import BadFrame, BadValue
from efr.wire.event.union import EVENTS
from efr.wire.fixtures import read
from tests.wire.samples import files

COUNT: Final = int(os.environ.get("EFR_FUZZ", "12000"))
FILES: Final = files()
NAMES: Final = sorted(FILES)
STEP: Final = re.compile(r"\.(\w+)|\[(\d+)\]")

Path = tuple[str | int, ...]


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = [value]
    return value


def inner(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path of every part of a value, its own first."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from inner(value[key], (*path, key))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from inner(element, (*path, index))


def at(value: Any, path: Path) -> Any:
    for step in path:
        value = value[step]
    return value


PATHS: Final = {name: list(inner(json.loads(FILES[name]))) for name in NAMES}
# Values at the edges of what types take: numbers, forms of ids and times, kinds, depth.
ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 1.0, 1.5, 1e308, 255, 256, 65_535, 65_536),
    *(2**31, 2**32 - 1, 2**32, 2**63, 2**64 - 1, 2**64, 10**40, float("inf")),
    *("", "unknown", "x", "x" * 300, "\ud800", "\0", "🙂", " - at `$.x`", "auto", "denied"),
    *("019A9B1C-3D00-7A10-8B20-000000000001", "{019a9b1c3d007a108b20000000000001}"),
    *("019a9b1c3d007a108b20000000000001", "urn:uuid:019a9b1c-3d00-7a10-8b20-000000000001"),
    *("j1", "j0", "j01", "j١", "YQ==", "YQ=", "YR==", "-_8="),
    *("2026-10-03T14:00:00.1000000009+02:00", "2026-10-03t12:00:00z", "2026-02-30T12:00:00Z"),
    *("0001-01-01T00:00:00+10:00", "9999-12-31T23:59:60Z", "9999-12-31T23:59:59-23:59"),
    *([], {}, [[]], [None], {"kind": 1}, {"kind": "unknown"}, {"kind": "later", "value": 1}),
    *(nested(100), nested(127), nested(128), nested(300)),
)
KINDS: Final = (*EVENTS, "unknown", "project", "host", "queue", "snapshot", "event", "held", "off")


# --- damage ----------------------------------------------------------------------------------


def odd(random: Random) -> Any:
    """A value of its own each time: later damage changes it."""
    value = random.choice(ODD)
    return json.loads(json.dumps(value)) if isinstance(value, (dict, list)) else value


def replaced(value: Any, path: Path, random: Random) -> Any:
    return put(value, path, odd(random))


def transplanted(value: Any, path: Path, random: Random) -> Any:
    donor = random.choice(NAMES)
    return put(value, path, at(json.loads(FILES[donor]), random.choice(PATHS[donor])))


def taken_out(value: Any, path: Path, random: Random) -> Any:
    if path:
        del at(value, path[:-1])[path[-1]]
    return value


def doubled(value: Any, path: Path, random: Random) -> Any:
    part = at(value, path)
    if isinstance(part, list):
        part.extend(part[:8])
    elif isinstance(part, dict):
        part.update({f"{key}_": part[key] for key in list(part)[:4]})
    return value


def of_another_kind(value: Any, path: Path, random: Random) -> Any:
    part = at(value, path)
    if isinstance(part, dict):
        part["kind"] = random.choice(KINDS)
    return value


def reordered(value: Any, path: Path, random: Random) -> Any:
    part = at(value, path)
    if isinstance(part, list):
        random.shuffle(part)
        return value
    if not isinstance(part, dict):
        return value
    keys = list(part)
    random.shuffle(keys)
    return put(value, path, {key: part[key] for key in keys})


def with_a_stranger(value: Any, path: Path, random: Random) -> Any:
    part = at(value, path)
    if isinstance(part, dict):
        part[random.choice(("later", "", "from_", "others", "members", "id"))] = odd(random)
    return value


def put(value: Any, path: Path, part: Any) -> Any:
    if not path:
        return part
    at(value, path[:-1])[path[-1]] = part
    return value


DAMAGE: Final[tuple[Callable[[Any, Path, Random], Any], ...]] = (
    replaced,
    replaced,
    replaced,
    transplanted,
    transplanted,
    taken_out,
    taken_out,
    doubled,
    of_another_kind,
    reordered,
    with_a_stranger,
)


def broken_bytes(body: bytes, random: Random) -> bytes:
    start = random.randrange(len(body) + 1)
    end = min(len(body), start + random.choice((0, 1, 1, 2, 8, 64)))
    filling = random.choice(
        (b"", b"", b"\0", b"\xff", b"{", b"]", b",", b'"', b"null", b"1e9", b" ")
    )
    return body[:start] + filling + body[end:]


def damaged(number: int) -> tuple[str, bytes]:
    """A fixture's name and what became of it."""
    random = Random(number)
    name = NAMES[number % len(NAMES)]
    value: Any = json.loads(FILES[name])
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        path = random.choice(list(inner(value)) if value else [()])
        value = random.choice(DAMAGE)(value, path, random)
    body = json.dumps(value, ensure_ascii=random.random() < 0.5).encode(errors="surrogatepass")
    return name, broken_bytes(body, random) if random.random() < 0.2 else body


# --- what must hold --------------------------------------------------------------------------


@pytest.mark.timeout(60 + COUNT // 200)
def test_a_damaged_fixture_is_a_value_or_a_bad_value_that_says_where() -> None:
    values = 0
    for number in range(COUNT):
        name, body = damaged(number)
        try:
            values += check(name, body)
        except Exception as exc:
            exc.add_note(f"damage {number} of {name}: {body[:2000]!r}")
            raise
    refusals = COUNT - values
    assert min(values, refusals) > COUNT // 20, "the damage finds one side alone"


def check(name: str, body: bytes) -> bool:
    """Whether the body is a value; its second reading and writing change nothing."""
    value = outcome(name, body)
    if isinstance(value, BadFrame):
        assert name.startswith("frames/")
        return False
    if isinstance(value, BadValue):
        assert value.why
        assert leads_into(body, value.where), f"{value.where} leads nowhere"
        return False
    written = pretty(value)
    again = read(name, written)
    assert again == value
    assert pretty(again) == written
    return True


def outcome(name: str, body: bytes) -> Any:
    """The value, or how the reader refused it."""
    try:
        return read(name, body)
    except (BadFrame, BadValue) as bad:
        return bad


def leads_into(body: bytes, where: str) -> bool:
    """Whether each step of the path but the last is there."""
    try:
        value = json.loads(body)
    except ValueError:
        return where == "$"
    steps = STEP.findall(where)
    if "$" + "".join(f".{key}" if key else f"[{index}]" for key, index in steps) != where:
        return False
    for key, index in steps[:-1]:
        if key and not (isinstance(value, dict) and key in value):
            return False
        if index and not (isinstance(value, list) and int(index) < len(value)):
            return False
        value = value[key or int(index)]
    return True


def test_number_n_does_the_same_damage_every_time() -> None:
    assert [damaged(number) for number in range(300)] == [damaged(number) for number in range(300)]
