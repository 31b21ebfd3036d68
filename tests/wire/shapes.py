"""The shape of every type, one line each: what old readers and writers of version 1 rely on.

`fixtures/v1.shapes` holds the shapes that are frozen. `make bless` adds what is new, at the end of
a line or as a line, and refuses what would break an old reader or writer.

    AdminLogoutResult  members: provider! string, logged_out! boolean, active? boolean = false
    Mode  closed: manual | cautious | auto | full

`!` is a member that is always there, `?` one that may be absent, with the default that its absence
means.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from efr.wire.schema import document

FROZEN: Final = Path(__file__).resolve().parents[2] / "fixtures" / "v1.shapes"
_WORDS_OF_TEXT: Final = frozenset(("description", "title", "default"))


def shapes() -> dict[str, str]:
    """The shape of each type of today, by its name."""
    found = {name: _shape(schema) for name, schema in document()["$defs"].items()}
    # A reader of an event takes a kind that it does not know as an UnknownEvent.
    return found | {"KnownEvent": found["KnownEvent"].replace("closed: ", "open: ")}


def frozen(path: Path = FROZEN) -> dict[str, str]:
    """The shapes that are frozen."""
    lines = path.read_text().splitlines()
    return dict(line.split("  ", 1) for line in lines)


def written(found: dict[str, str]) -> str:
    """The file that holds them."""
    return "".join(f"{name}  {shape}\n" for name, shape in sorted(found.items()))


def breaks(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What an old reader or writer would fail on, a line each; empty when all may stay."""
    found = [f"{name} is gone" for name in sorted(before.keys() - now.keys())]
    for name in sorted(before.keys() & now.keys()):
        found += [f"{name}: {why}" for why in _breaks(before[name], now[name])]
    return found


def _breaks(before: str, now: str) -> list[str]:
    if before == now:
        return []
    kinds = {shape.split(": ", 1)[0] for shape in (before, now)}
    if kinds == {"members"}:
        return _member_breaks(_parts(before, ", "), _parts(now, ", "))
    if kinds == {"open"}:
        gone = [part for part in _parts(before, " | ") if part not in _parts(now, " | ")]
        return [f"{part} is gone" for part in gone]
    if kinds == {"closed"}:
        return [f"a closed set changed from {before} to {now}: old readers fail on it"]
    return [f"{before} became {now}"]


def _member_breaks(before: list[str], now: list[str]) -> list[str]:
    found = [f"the member `{member}` is gone or changed" for member in before if member not in now]
    new = [member for member in now if member not in before]
    found += [
        f"the new member `{member}` is required: old writers leave it out"
        for member in new
        if member.split(" ")[0].endswith("!")
    ]
    if not found and now[: len(before)] != before:
        found.append(f"new members come last: {', '.join(new)}")
    return found


def _parts(shape: str, between: str) -> list[str]:
    return [part for part in shape.split(": ", 1)[1].split(between) if part]


def _shape(schema: dict[str, Any]) -> str:
    if schema.get("type") == "object" and "additionalProperties" not in schema:
        required = schema.get("required", [])
        members = [
            f"{name}{'!' if name in required else '?'} {_words(member)}{_default(member)}"
            for name, member in schema.get("properties", {}).items()
        ]
        return f"members: {', '.join(members)}"
    if "enum" in schema:
        values = schema["enum"]
        return f"{'open' if 'unknown' in values else 'closed'}: {' | '.join(values)}"
    if "anyOf" in schema:
        options = [_words(option) for option in schema["anyOf"]]
        is_open = any(option.endswith("Unknown") or option == "UnknownEvent" for option in options)
        return f"{'open' if is_open else 'closed'}: {' | '.join(options)}"
    return f"as it is: {_words(schema)}"


def _default(member: dict[str, Any]) -> str:
    return f" = {_json(member['default'])}" if "default" in member else ""


def _words(schema: dict[str, Any]) -> str:
    """A type in a few words without a comma followed by a space."""
    plain = {name: value for name, value in schema.items() if name not in _WORDS_OF_TEXT}
    if set(plain) == {"allOf"} and len(plain["allOf"]) == 1:
        plain = plain["allOf"][0]
    if set(plain) == {"$ref"}:
        return str(plain["$ref"]).removeprefix("#/$defs/")
    if set(plain) == {"type"}:
        return str(plain["type"])
    if set(plain) == {"type", "minimum", "maximum"}:
        return f"{plain['minimum']}..{plain['maximum']}"
    if set(plain) == {"type", "items"}:
        return f"[{_words(plain['items'])}]"
    return _json(plain)


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
