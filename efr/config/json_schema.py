"""config.toml as JSON Schema (draft 2020-12), for editors. Pure."""

from __future__ import annotations

import json
from typing import Any, Final

from msgspec import inspect

from efr.config.declared import Declared, choices_of, declared, members, root
from efr.config.forms import Form, Range

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def document() -> dict[str, Any]:
    """The schema of the whole file."""
    return {
        "$schema": _DRAFT,
        "title": "config.toml of efr",
        **_table(root(), ""),
    }


def text() -> str:
    """The document as the file docs/config.schema.json holds it."""
    return json.dumps(document(), indent=2, ensure_ascii=False) + "\n"


def _table(table: inspect.StructType, prefix: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in table.fields:
        name = f"{prefix}.{field.encode_name}" if prefix else field.encode_name
        key = declared().get(name)
        if key is not None:
            found[field.encode_name] = _key(key)
        elif isinstance(field.type, inspect.StructType) and not field.required:
            about = field.type.cls.__doc__ or ""
            found[field.encode_name] = {"description": about, **_table(field.type, name)}
        else:
            choices = choices_of(table.cls.__annotations__[field.name])
            found[field.encode_name] = _kind(field.type, None, choices)
    required = [field.encode_name for field in table.fields if field.required]
    closed: dict[str, Any] = {"type": "object", "properties": found, "additionalProperties": False}
    return closed | ({"required": required} if required else {})


def _key(one: Declared) -> dict[str, Any]:
    about = f"{one.key.text} Applies with: {one.key.applies}."
    default = [] if one.default == () else one.default
    told = {"description": about, **_kind(one.kind, one.key.range, one.choices)}
    return told if one.default is None else told | {"default": default}


def _kind(
    kind: inspect.Type, must: Range | Form | None, choices: tuple[str, ...]
) -> dict[str, Any]:
    kinds = [_one(one, must, choices) for one in members(kind)]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def _one(kind: inspect.Type, must: Range | Form | None, choices: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(kind, inspect.BoolType):
        return {"type": "boolean"}
    if isinstance(kind, inspect.IntType):
        return {"type": "integer", **_range(must)}
    if isinstance(kind, inspect.LiteralType):
        return {"enum": list(choices or kind.values)}
    if isinstance(kind, inspect.VarTupleType):
        return {"type": "array", "items": _kind(kind.item_type, must, choices)}
    if isinstance(kind, inspect.StructType):
        return _table(kind, "?")
    pattern = must.pattern if isinstance(must, Form) else ""
    return {"type": "string"} | ({"pattern": f"^(?:{pattern})$"} if pattern else {})


def _range(must: Range | Form | None) -> dict[str, int]:
    if not isinstance(must, Range):
        return {}
    high = {} if must.high is None else {"maximum": must.high}
    return {"minimum": must.low, **high}
