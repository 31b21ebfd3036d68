"""A declared key in words: its default and its values, for the page and the example. Pure."""

from __future__ import annotations

from msgspec import inspect

from efr.config.declared import Declared, members
from efr.config.forms import Range
from efr.config.toml import inline


def default_of(one: Declared) -> str:
    """The default as TOML; "" when there is none."""
    if one.default is None:
        return ""
    value = one.default
    return inline(list(value) if isinstance(value, tuple) else value)


def values_of(one: Declared) -> str:
    """What the key may be set to, in words."""
    if one.choices:
        return ", ".join(f"`{choice}`" for choice in one.choices)
    kinds = members(one.kind)
    each = any(isinstance(kind, inspect.VarTupleType) for kind in kinds)
    if one.name == "permissions.rules":
        return "rules, see below"
    if isinstance(one.key.range, Range):
        low, high = one.key.range
        return f"{low}–{high}" if high is not None else f"from {low}"
    if one.key.range is not None:
        return f"a list, each {one.key.range.must}" if each else one.key.range.must
    if any(isinstance(kind, inspect.BoolType) for kind in kinds):
        return "`true`, `false`"
    return "a text"
