"""Edits of config.toml's text that leave the rest as it was: comments, blank lines, order. Pure.

A value is replaced where it stands; a new key goes below the last one of its table, or before the
first table; a missing table goes to the end. tomlkit writes the values, and edits the layouts that
are not lines (inline tables and arrays). What an edit makes is read again and has to say what was
asked for and nothing else; a layout that is too unusual for that is refused and never damaged.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, cast

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Array, Item

from efr.config.errors import ConfigError
from efr.config.load import parse
from efr.config.places import Layout, Path, Section, layout

Document = dict[str, Any]

_RULES: Path = ("permissions", "rules")


class NoSuchRule(ConfigError):
    """There is no rule of that number."""

    def __init__(self, index: int, count: int) -> None:
        has = f"there are {count}, from 0 to {count - 1}" if count else "there is none"
        super().__init__(f"no rule has the number {index}; {has}", key="permissions.rules")


def with_key(text: str, key: str, value: Any) -> str:
    """The text with one key set. Raises ConfigError for a text that is no TOML."""
    path = tuple(key.split("."))
    wanted = parse(text.encode())
    _table(wanted, path[:-1])[path[-1]] = value
    return _checked(wanted, key, lambda: _with_key(text, path, value))


def without_key(text: str, key: str) -> str | None:
    """The text without one key; None: it was not set."""
    path = tuple(key.split("."))
    wanted = parse(text.encode())
    table = _table(wanted, path[:-1])
    if path[-1] not in table:
        return None
    del table[path[-1]]
    return _checked(wanted, key, lambda: _without_key(text, path))


def with_rule(text: str, rule: Mapping[str, Any]) -> str:
    """The text with one more rule behind the others."""
    wanted = parse(text.encode())
    _rules(wanted).append(dict(rule))
    return _checked(wanted, "permissions.rules", lambda: _with_rule(text, rule))


def without_rule(text: str, index: int) -> str:
    """The text without the rule of that number, and without the key after the last one.

    Raises NoSuchRule.
    """
    wanted = parse(text.encode())
    rules = _rules(wanted)
    if not 0 <= index < len(rules):
        raise NoSuchRule(index, len(rules))
    del rules[index]
    if not rules:
        del wanted["permissions"]["rules"]
    return _checked(wanted, "permissions.rules", lambda: _without_rule(text, index, len(rules)))


def _table(document: Document, path: Path) -> Document:
    """The table at the path, made where there is none."""
    for end, name in enumerate(path, start=1):
        found: Any = document.setdefault(str(name), {})
        if not isinstance(found, dict):
            key = ".".join(map(str, path[:end]))
            raise ConfigError("must be a table; please edit the file", key=key)
        document = found
    return document


def _rules(document: Document) -> list[Any]:
    """The list of rules, made where there is none."""
    rules = _table(document, ("permissions",)).setdefault("rules", [])
    if not isinstance(rules, list):
        raise ConfigError("must be a list; please edit the file", key="permissions.rules")
    return rules


def _checked(wanted: Document, key: str, edit: Callable[[], str]) -> str:
    """The edited text, once it says what is wanted."""
    try:
        after = edit()
        found = tomllib.loads(after)
    except (TOMLKitError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as exc:
        raise _too_unusual(key) from exc
    if _full(found) != _full(wanted):
        raise _too_unusual(key)
    return after


def _too_unusual(key: str) -> ConfigError:
    return ConfigError("the file's layout is too unusual to change it; please edit it", key=key)


def _full(value: Any) -> Any:
    """Without tables that are empty: a header may stay behind its last key, or come first."""
    if isinstance(value, dict):
        kept = {name: _full(one) for name, one in value.items()}
        return {name: one for name, one in kept.items() if one != {}}
    return [_full(one) for one in value] if isinstance(value, list) else value


# Keys.


def _with_key(text: str, path: Path, value: Any) -> str:
    found = layout(text)
    if path in found.spans:
        if not found.is_pair(path):
            return _by_tomlkit(text, path, value)  # `[[openai.models]]`
        span = found.spans[path]
        return text[: span.value] + _toml(value) + text[span.end :]
    line = f"{path[-1]} = {_toml(value)}"
    section = _section(found, path[:-1])
    if section is not None:
        return _below(text, found, section, line)
    if any(found.is_pair(path[:end]) for end in range(1, len(path))):
        return _by_tomlkit(text, path, value)  # `shell = { … }`
    above = _pairs_of(found, path[:-1])
    if above is not None:  # `shell.login = true`, and no header
        head = f"{'.'.join(map(str, path[len(above.path) :]))} = {_toml(value)}"
        return _below(text, found, above, head)
    newline = _newline(text)
    return f"{_with_gap(text)}[{'.'.join(map(str, path[:-1]))}]{newline}{line}{newline}"


def _without_key(text: str, path: Path) -> str:
    found = layout(text)
    span = found.spans[path]
    start = text.rfind("\n", 0, span.key) + 1
    end = _line_end(text, span.end)
    line = text[start : span.key].strip().replace(" ", "")
    rest = text[span.end : end].strip()
    names = tuple(part for part in line.split(".") if part)
    alone = found.is_pair(path) and names == path[len(path) - 1 - len(names) : -1]
    if not alone or (rest and not rest.startswith("#")):
        return _by_tomlkit(text, path, None)
    return text[:start] + text[end:]


def _section(found: Layout, table: Path) -> Section | None:
    """The part of the text that a table's header holds."""
    sections = found.sections[1:] if table else found.sections[:1]
    return next((one for one in sections if one.path == table), None)


def _pairs_of(found: Layout, table: Path) -> Section | None:
    """The section in which dotted keys give the table."""
    for section in found.sections:
        depth = len(section.path)
        for path, span in found.spans.items():
            inside = section.start <= span.key < section.end
            if inside and path[: len(table)] == table and depth < len(table) < len(path):
                return section
    return None


def _below(text: str, found: Layout, section: Section, line: str) -> str:
    """The text with a line below the last pair of a section."""
    newline = _newline(text)
    last = _last(text, found, section, line)
    if section.path or last:
        end = _line_end(text, last)
        gap = "" if text[:end].endswith("\n") else newline
        return f"{text[:end]}{gap}{line}{newline}{text[end:]}"
    end = _opening(text, found)
    head, rest = text[:end], text[end:].lstrip("\r\n")
    gap = newline if head.strip() and not head.endswith((newline * 2,)) else ""
    head += "" if not head or head.endswith("\n") else newline
    after = newline if rest else ""
    return f"{head}{gap}{line}{newline}{after}{rest}"


def _last(text: str, found: Layout, section: Section, line: str) -> int:
    """Behind the last pair of the section, or behind the key itself where it is commented out."""
    key = line.partition(" = ")[0]
    after = [one.start for one in found.sections if one.start > section.start]
    until = min(after, default=len(text))
    for here in re.finditer(rf"^#[ \t]?{re.escape(key)}[ \t]*=", text[:until], re.MULTILINE):
        if here.start() >= section.start:
            return here.start()
    return section.end


def _opening(text: str, found: Layout) -> int:
    """The end of the comments that open the file; those that touch a header belong to it."""
    end = 0
    first = found.sections[1].start if len(found.sections) > 1 else len(text)
    position = 0
    for line in text[:first].splitlines(keepends=True):
        position += len(line)
        if not line.strip() or first == len(text):
            end = position
    return end


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end + 1


# Rules.


def _with_rule(text: str, rule: Mapping[str, Any]) -> str:
    found = layout(text)
    if found.is_pair(_RULES):
        document = tomlkit.parse(text)
        permissions: Any = document["permissions"]
        permissions["rules"].append(_item(rule))
        return document.as_string()
    newline = _newline(text)
    rows = ["[[permissions.rules]]", *(f"{name} = {_toml(one)}" for name, one in rule.items())]
    block = newline.join([*rows, ""])
    inside = [one for one in found.sections[1:] if one.path[:1] == ("permissions",)]
    if not inside or found.is_pair(("permissions",)):
        return _with_gap(text) + block
    end = _line_end(text, inside[-1].end)
    head, rest = text[:end], text[end:]
    gap = "" if head.endswith("\n") else newline
    after = "" if not rest.strip() or rest[:1] in "\r\n" else newline
    return f"{head}{gap}{newline}{block}{after}{rest}"


def _without_rule(text: str, index: int, left: int) -> str:
    found = layout(text)
    if found.is_pair(_RULES):
        document = tomlkit.parse(text)
        permissions: Any = document["permissions"]
        if left:
            del permissions["rules"][index]
        else:
            del permissions["rules"]
        return document.as_string()
    mine = [one for one in found.sections if one.path[:3] == (*_RULES, index)]
    start, end = mine[0].start, _line_end(text, mine[-1].end)
    lines = text[:start].splitlines(keepends=True)
    while lines and lines[-1].lstrip().startswith("#"):
        start -= len(lines.pop())
    rest = text[end:]
    if not lines or not lines[-1].strip():
        rest = rest.removeprefix(_newline(text))
    return text[:start] + rest


# Text.


def _by_tomlkit(text: str, path: Path, value: Any) -> str:
    """Sets a key, or deletes it (None), in a layout that is no line of its own."""
    document = tomlkit.parse(text)
    table: Any = document
    for name in path[:-1]:
        table = table[name]
    if value is None:
        del table[path[-1]]
    else:
        table[path[-1]] = _item(value)
    return document.as_string()


def _item(value: Any) -> Item:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for name, one in value.items():
            table.append(name, _item(one))
        return table
    if isinstance(value, list | tuple):
        array: Array = tomlkit.array()
        for one in value:
            array.append(_item(one))
        return array
    return cast(Item, tomlkit.item(value))


def _toml(value: Any) -> str:
    return _item(value).as_string()


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _with_gap(text: str) -> str:
    """The text, ended by a blank line."""
    if not text.strip():
        return text
    newline = _newline(text)
    gap = "" if text.endswith(newline * 2) else newline
    return text + ("" if text.endswith("\n") else newline) + gap
