"""What is wrong with a file that is TOML: every fault with its path, and the one to report.

Pure. Unknown keys and wrong types come first, then rules one by one, then ranges, each in the
order of the file. A good file needs `range_faults` and `rule_faults` alone; types are checked by
msgspec then, and only a bad file is walked with them. Facts: docs/config.md, "Errors".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from msgspec import convert

from efr.config.errors import ConfigError
from efr.config.keys import KEYS
from efr.config.places import Path, Span, layout, line_column
from efr.config.rules import RULES, problems_of
from efr.config.schema import RuleEntry
from efr.config.toml import inline

_SHAPE, _MISSING, _RULE, _RANGE = range(4)  # in this order they are reported
_LONGEST: Final = 80  # characters of a value in a message; more is no help


class Fault(NamedTuple):
    """One thing that is wrong. `place` is where to look, `on_key` whether at the key there."""

    rank: int
    path: Path
    message: str
    place: Path
    on_key: bool = False


def first_fault(document: Mapping[str, Any], text: str) -> ConfigError:
    """The error to report of a document that was read from the text and is not good."""
    shape = list(_shape_faults(document))
    broken = [fault.path for fault in shape]
    found = [*shape, *rule_faults(document, broken), *range_faults(document, broken)]
    where = layout(text).spans
    fault = min(found, key=lambda one: (one.rank, _offset(one, where)))
    line, column = line_column(text, _offset(fault, where)) if text else (None, None)
    return ConfigError(fault.message, line=line, column=column, key=dotted(fault.path))


def dotted(path: Iterable[str | int]) -> str:
    """`permissions.rules[2].effect`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def unknown_key(key: str) -> ConfigError:
    """The error for a key that nobody declared, with the nearest one."""
    from efr.config.declared import declared

    *tables, name = key.split(".")
    prefix = "".join(f"{table}." for table in tables)
    beside = [one[len(prefix) :] for one in declared() if one.startswith(prefix)]
    return ConfigError(f"unknown key{_hint(tuple(tables), name, beside)}", key=key)


def range_faults(document: Mapping[str, Any], broken: Iterable[Path] = ()) -> Iterator[Fault]:
    """Values out of their range or form, but for those below a broken path."""
    skipped = tuple(broken)
    for path, value in _leaves(document, ()):
        declared = KEYS.get(dotted(path))
        if declared is None or declared.range is None or _touches(path, skipped):
            continue
        must = declared.range
        items = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, item in items:
            here = path if index is None else (*path, index)
            if not _touches(here, skipped) and not _holds(here, skipped) and not must.fits(item):
                yield Fault(_RANGE, here, f"must be {must.must}, not {shown(item)}", here)


def rule_faults(document: Mapping[str, Any], broken: Iterable[Path] = ()) -> Iterator[Fault]:
    """Rules that efr does not take."""
    skipped = tuple(broken)
    permissions = document.get("permissions")
    entries = permissions.get("rules") if isinstance(permissions, dict) else None
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        path: Path = (*RULES, index)
        if _touches(path, skipped) or _holds(path, skipped):
            continue
        for problem in problems_of(convert(entry, RuleEntry)):
            yield Fault(_RULE, (*path, *_parts(problem.member)), problem.message, path)


def shown(value: object) -> str:
    """A value in a message."""
    text = inline(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _touches(path: Path, broken: tuple[Path, ...]) -> bool:
    """Whether the path is a broken one or below it."""
    return any(path[: len(one)] == one for one in broken)


def _holds(path: Path, broken: tuple[Path, ...]) -> bool:
    """Whether a broken path is below it."""
    return any(one[: len(path)] == path for one in broken)


def _leaves(table: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def _parts(member: str) -> Iterator[str | int]:
    for part in member.split("."):
        name, _, index = part.partition("[")
        yield name
        if index:
            yield int(index.removesuffix("]"))


def _offset(fault: Fault, where: Mapping[Path, Span]) -> int:
    """Where to look: at the path, or at the nearest table above it."""
    path = fault.place
    while path and path not in where:
        path = path[:-1]
    if not path:
        return 0
    return where[path].key if fault.on_key else where[path].value


# Types. From here on only bad files come.


def _shape_faults(document: Mapping[str, Any]) -> Iterator[Fault]:
    from efr.config.declared import root

    yield from _walk(document, root(), ())


def _walk(value: Any, kind: Any, path: Path) -> Iterator[Fault]:
    from msgspec import inspect

    from efr.config.declared import declared, members

    python: dict[type, tuple[type, str]] = {
        inspect.BoolType: (bool, "true or false"),
        inspect.IntType: (int, "a whole number"),
        inspect.StrType: (str, "a text"),
        inspect.LiteralType: (str, "a text"),
        inspect.VarTupleType: (list, "a list"),
        inspect.StructType: (dict, "a table"),
    }
    fitting: list[Any] = [one for one in members(kind) if isinstance(value, python[type(one)][0])]
    if isinstance(value, bool):
        fitting = [one for one in fitting if isinstance(one, inspect.BoolType)]
    if not fitting:
        words = " or ".join(dict.fromkeys(python[type(one)][1] for one in members(kind)))
        yield Fault(_SHAPE, path, f"must be {words}, not {shown(value)}", path)
        return
    if isinstance(value, dict):
        yield from _walk_table(value, fitting[0], path)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, fitting[0].item_type, (*path, index))
    elif isinstance(value, str) and all(isinstance(one, inspect.LiteralType) for one in fitting):
        key = declared().get(dotted(path))
        taken = key.choices if key else [one for kind in fitting for one in kind.values]
        if value not in taken:
            rank = _RULE if path[:2] == RULES else _RANGE
            message = f"must be one of {', '.join(taken)}, not {shown(value)}"
            yield Fault(rank, path, message, path[:3] if rank == _RULE else path)


def _walk_table(value: Mapping[str, Any], kind: Any, path: Path) -> Iterator[Fault]:
    fields = {field.encode_name: field for field in kind.fields}
    for name, item in value.items():
        if name in fields:
            yield from _walk(item, fields[name].type, (*path, name))
        else:
            message = f"unknown key{_hint(path, name, list(fields))}"
            yield Fault(_SHAPE, (*path, name), message, (*path, name), on_key=True)
    for name, field in fields.items():
        if field.required and name not in value:
            yield Fault(_MISSING, (*path, name), "is missing", path)


def _hint(path: Path, name: str, beside: list[str]) -> str:
    """The nearest key: of the same table, else of all by its last name."""
    import difflib  # only for a file that does not load

    from efr.config.declared import declared, tables

    everywhere = [*declared(), *(table.name for table in tables() if table.name)]
    near = [dotted((*path, one)) for one in difflib.get_close_matches(name, beside, n=1)]
    if not near:
        ends = [one.rpartition(".")[2] for one in everywhere]
        close = difflib.get_close_matches(name.rpartition(".")[2], ends, n=1)
        near = [everywhere[ends.index(one)] for one in close]
    return f"; did you mean {near[0]}?" if near else ""
