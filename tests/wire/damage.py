"""Damaged fixtures and frames of every type, made by number.

The damage knows the structure: parts are replaced, moved between types, doubled, nested and taken
out; then bytes are flipped, cut and spliced. Number n of a seed does the same damage on every
machine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final, NamedTuple

from efr.wire.event.union import EVENTS
from efr.wire.table import METHODS
from tests.wire.samples import files

FILES: Final = files()
NAMES: Final = sorted(FILES)

Path = tuple[str | int, ...]


class Whole(NamedTuple):
    """A frame as it should be: who sends it, and of which method it is."""

    body: bytes
    from_client: bool
    method: str


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


def put(value: Any, path: Path, part: Any) -> Any:
    if not path:
        return part
    at(value, path[:-1])[path[-1]] = part
    return value


def nested(depth: int, kind: type = list) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = [value] if kind is list else {"a": value}
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
    *(nested(100), nested(127), nested(128), nested(300), nested(126, dict), nested(200, dict)),
)
KINDS: Final = (*EVENTS, "unknown", "project", "host", "queue", "snapshot", "event", "held", "off")


def _frames() -> list[Whole]:
    """A frame for each fixture of params, results, items, events and frames."""
    made: list[Whole] = []
    for name in NAMES:
        stem = name.removesuffix(".json").replace("/", "_")
        content = json.loads(FILES[name])
        if name.startswith("frames/"):
            made.append(Whole(_written(content), "client_" in name, ""))
        elif name.startswith("events/"):
            item = {"kind": "event", "seq": 7, "at": "2026-10-03T12:00:00Z", "event": content}
            made.append(Whole(_written({"id": 7, "item": item}), False, "conversation.subscribe"))
        elif isinstance(content, dict) and "params" in content:
            made.append(Whole(_written({"id": 7, **content}), True, content["method"]))
        else:
            made += [
                Whole(_written({"id": 7, "item": content}), False, method.name)
                for method in METHODS.values()
                if f"{stem}_".startswith(
                    f"{method.name.replace('.', '_')}_{'item' if method.stream else 'result'}_"
                )
            ]
    return made


def _written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


FRAMES: Final = _frames()
REQUESTS: Final = [whole for whole in FRAMES if whole.from_client]


# --- damage to the structure -----------------------------------------------------------------


def odd(random: Random) -> Any:
    """A value of its own each time: later damage changes it."""
    value = random.choice(ODD)
    return json.loads(json.dumps(value)) if isinstance(value, (dict, list)) else value


def replaced(value: Any, path: Path, random: Random) -> Any:
    return put(value, path, odd(random))


def of_another_type(value: Any, path: Path, random: Random) -> Any:
    """The same value in another type of JSON."""
    part = at(value, path)
    others = (str(part), [part], {"value": part}, not part, part and str(part)[::-1], None)
    return put(value, path, random.choice(others))


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


def wrapped(value: Any, path: Path, random: Random) -> Any:
    part = at(value, path)
    for _ in range(random.choice((1, 2, 120, 140))):
        part = [part]
    return put(value, path, part)


def swapped(value: Any, path: Path, random: Random) -> Any:
    """Two members of an object change places."""
    part = at(value, path)
    if isinstance(part, dict) and len(part) > 1:
        one, other = random.sample(list(part), 2)
        part[one], part[other] = part[other], part[one]
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
        name = random.choice(("later", "", "from_", "others", "members", "id", "cancel", "item"))
        part[name] = odd(random)
    return value


DAMAGE: Final[tuple[Callable[[Any, Path, Random], Any], ...]] = (
    *(replaced, replaced, replaced, transplanted, transplanted, taken_out, taken_out),
    *(doubled, wrapped, swapped, of_another_type, of_another_kind, reordered, with_a_stranger),
)


# --- damage to the bytes ---------------------------------------------------------------------


def broken_bytes(body: bytes, random: Random) -> bytes:
    start = random.randrange(len(body) + 1)
    end = min(len(body), start + random.choice((0, 1, 1, 2, 8, 64)))
    filling = random.choice(
        (b"", b"", b"\0", b"\xff", b"{", b"]", b",", b'"', b"null", b"1e9", b" ", b"\xed\xa0\x80")
    )
    return body[:start] + filling + body[end:]


def flipped(body: bytes, random: Random) -> bytes:
    """Some bits are the other way."""
    broken = bytearray(body)
    for _ in range(random.choice((1, 1, 2, 4))):
        broken[random.randrange(len(broken))] ^= 1 << random.randrange(8)
    return bytes(broken)


def cut(body: bytes, random: Random) -> bytes:
    return body[: random.randrange(len(body) + 1)]


def spliced(body: bytes, random: Random) -> bytes:
    """Its beginning, and the end of another frame."""
    other = random.choice(FRAMES).body
    return body[: random.randrange(len(body) + 1)] + other[random.randrange(len(other) + 1) :]


BYTES: Final[tuple[Callable[[bytes, Random], bytes], ...]] = (
    *(broken_bytes, broken_bytes, flipped, cut, spliced),
)


def _damaged(body: bytes, random: Random) -> bytes:
    value: Any = json.loads(body)
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        path = random.choice(list(inner(value)) if value else [()])
        value = random.choice(DAMAGE)(value, path, random)
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    written = text.encode(errors="surrogatepass")
    while written and random.random() < 0.25:
        written = random.choice(BYTES)(written, random)
    return written


def damaged_file(number: int, seed: int = 0) -> tuple[str, bytes]:
    """A fixture's name and what became of it."""
    random = Random((seed << 40) + number)
    name = NAMES[number % len(NAMES)]
    return name, _damaged(FILES[name], random)


def damaged_frame(number: int, seed: int = 0) -> tuple[Whole, bytes]:
    """A frame and what became of its payload."""
    return _frame(FRAMES, number, seed)


def damaged_request(number: int, seed: int = 0) -> tuple[Whole, bytes]:
    """As `damaged_frame`, of a client's frames; now and then one of the daemon's own."""
    return _frame(FRAMES if number % 16 == 0 else REQUESTS, number, seed)


def _frame(among: list[Whole], number: int, seed: int) -> tuple[Whole, bytes]:
    random = Random((seed << 40) + number)
    whole = among[number % len(among)]
    if random.random() < 0.2:
        return whole, random.choice(BYTES)(whole.body, random)
    return whole, _damaged(whole.body, random)
