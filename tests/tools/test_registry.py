"""The registry and the schemas that models are given."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from msgspec import Struct

from efr.tools.apply_patch import PatchInput
from efr.tools.contract import BadInput, Where
from efr.tools.read_file import ReadInput
from efr.tools.registry import ToolRegistry
from efr.tools.shell import ShellInput
from efr.tools.write_file import WriteInput
from efr.wire import codec

WHERE = Where("/home/u", "/home/u", "/home/u")
PATCH = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n"
HIDDEN = {"nested_shell"}  # read and refused, never offered
INPUTS: list[tuple[str, type[Struct], dict[str, Any]]] = [
    ("shell", ShellInput, {"command": "ls", "timeout_seconds": 600, "workdir": "~"}),
    ("read_file", ReadInput, {"path": "a", "offset": 1, "limit": 1}),
    ("write_file", WriteInput, {"path": "a", "content": ""}),
    ("apply_patch", PatchInput, {"input": PATCH}),
]


def test_the_tools_stand_in_one_order() -> None:
    registry = ToolRegistry()
    names = [tool.name for tool in registry.definitions()]
    assert names == ["shell", "read_file", "write_file", "apply_patch", "edit"]
    for definition in registry.definitions():
        tool = registry.get(definition.name)
        assert tool is not None
        assert tool.definition is definition
    assert registry.get("nothing") is None
    assert ToolRegistry([]).definitions() == ()


@pytest.mark.parametrize(("name", "kind", "input"), INPUTS)
def test_a_schema_is_closed_and_says_what_is_read(
    name: str, kind: type[Struct], input: dict[str, Any]
) -> None:
    tool = ToolRegistry().get(name)
    assert tool is not None
    schema = dict(tool.definition.input_schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(kind.__struct_fields__) - HIDDEN
    jsonschema.validate(input, schema)
    tool.declare(input, WHERE)
    for member in schema["required"]:
        less = {key: value for key, value in input.items() if key != member}
        with pytest.raises(BadInput):
            tool.declare(less, WHERE)
    with pytest.raises(BadInput, match="unknown"):
        tool.declare({**input, "other": 1}, WHERE)
    for key in input:
        with pytest.raises(BadInput):
            tool.declare({**input, key: []}, WHERE)


def test_definitions_can_be_sent() -> None:
    for definition in ToolRegistry().definitions():
        more = {"grammar"} if definition.name == "apply_patch" else set()
        members = {"name", "description", "input_schema"} | more
        assert set(codec.to_builtins(definition)) == members
        assert len(definition.description) < 1024
