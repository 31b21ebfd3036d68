"""The declared types of a type's members, for what is worked out from them. Pure; any thread.

`typing.get_type_hints` compiles and evaluates text for every member, each time. The wire types
have no such text: their modules do without `from __future__ import annotations`, because the
command pays for every type that it meets.
"""

from __future__ import annotations

from functools import cache
from typing import Any, get_type_hints

from msgspec import Struct


def is_struct(kind: Any) -> bool:
    """Whether it is a declared object."""
    return isinstance(kind, type) and issubclass(kind, Struct)


@cache
def hints_of(kind: type[Struct]) -> dict[str, Any]:
    """The type of each member by its attribute, inherited members first."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        # not inspect.get_annotations: importing inspect takes longer than all this
        found |= base.__dict__.get("__annotations__", {})  # noqa: RUF063
    if any(type(hint) is str for hint in found.values()):
        return get_type_hints(kind, include_extras=True)
    return {attribute: found[attribute] for attribute in kind.__struct_fields__}
