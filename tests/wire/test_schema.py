"""The schema document is current, valid, and takes every fixture."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final, get_args

import pytest
from jsonschema import Draft202012Validator

from efr.wire import events as ev
from efr.wire import methods as m
from efr.wire import types as t
from efr.wire.codec import to_builtins
from efr.wire.declared import exported, is_set, kinds_of, name_of, scalar_name
from efr.wire.fixtures import SETS
from efr.wire.hints import is_struct
from efr.wire.schema import document, main
from efr.wire.table import METHODS
from tests.wire.samples import values

SCHEMA_FILE: Final = Path(__file__).resolve().parents[2] / "docs" / "protocol.schema.json"
DOCUMENT: Final[dict[str, Any]] = json.loads(SCHEMA_FILE.read_bytes())
VALUES: Final = values()
VECTORS: Final = ("device_prove_message", "pairing_qr_url")


def schema_of(name: str) -> dict[str, Any]:
    """The part of the document that a fixture file is an instance of."""
    if name.startswith("events/"):
        return ref("Event")
    if name.startswith("frames/"):
        return ref("ClientFrame" if "client" in name else "ServerFrame")
    if name in SETS:
        names = {frozenset(d["enum"]): n for n, d in DOCUMENT["$defs"].items() if "enum" in d}
        kind = SETS[name]
        values_ = frozenset(getattr(v, "value", None) for v in kind) if _is_enum(kind) else None
        return {"items": ref(names[values_]) if values_ else {"anyOf": union_refs(kind)}}
    for method in METHODS.values():
        for what in ("params", "item", "result"):
            if f"{name}_".startswith(f"{method.name.replace('.', '_')}_{what}_"):
                part: dict[str, Any] = DOCUMENT["properties"]["methods"]["properties"][method.name]
                inner: dict[str, Any] = part["properties"][what]
                return {"properties": {"params": inner}} if what == "params" else inner
    raise LookupError(name)


def ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def union_refs(kind: Any) -> list[dict[str, Any]]:
    return [ref(option.__name__) for option in get_args(kind)]


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type)


def validator(part: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator({"$defs": DOCUMENT["$defs"], **part})


def test_the_document_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check", str(SCHEMA_FILE)]) == 0, capsys.readouterr().err
    assert document() == DOCUMENT


def test_the_document_is_a_schema() -> None:
    Draft202012Validator.check_schema(DOCUMENT)


def test_every_reference_has_a_definition() -> None:
    def references(part: Any) -> set[str]:
        if isinstance(part, dict):
            own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
            return own.union(*map(references, part.values()))
        return set().union(*map(references, part)) if isinstance(part, list) else set()

    assert references(DOCUMENT) == {f"#/$defs/{name}" for name in DOCUMENT["$defs"]}


def test_every_declared_type_has_a_definition_of_its_name() -> None:
    named = {
        name_of(value) if is_struct(value) else name
        for module in (t, m, ev)
        for _home, name, value in exported(module)
        if is_struct(value) or is_set(value) or kinds_of(value) or scalar_name(value)
    }
    frames = {"Request", "CancelFrame", "ItemFrame", "EndFrame", "ErrorFrame", "AckFrame"}
    unions = {"ClientFrame", "ServerFrame", "KnownEvent", "Json"}
    assert set(DOCUMENT["$defs"]) == named | frames | unions


def test_a_reference_stands_alone() -> None:
    """Beside another word, generators make a second type of it."""

    def faults(part: Any) -> int:
        if isinstance(part, list):
            return sum(map(faults, part))
        if not isinstance(part, dict):
            return 0
        own = isinstance(part.get("$ref"), str) and len(part) > 1
        return own + sum(map(faults, part.values()))

    assert faults(DOCUMENT) == 0


def test_members_have_their_meaning() -> None:
    written = DOCUMENT["$defs"]["AssistantMessageUpdatedEvent"]["properties"]
    assert written["offset"]["description"] == "bytes of UTF-8 before `delta`"
    assert DOCUMENT["$defs"]["JobState"]["description"].startswith("Where a job is")


@pytest.mark.parametrize("name", sorted(VALUES.keys() - VECTORS))
def test_a_fixture_is_valid(name: str) -> None:
    validator(schema_of(name)).validate(to_builtins(VALUES[name]))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HelloParams", {"protocol": "1", "origin": "cli"}),
        ("HelloParams", {"origin": "cli"}),
        ("HelloParams", {"protocol": 1, "origin": "fax"}),
        ("Size", {"cols": 65_536, "rows": 1}),
        ("Color", {"indexed": 1, "rgb": [1, 2, 3]}),
        ("Color", {"rgb": [1, 2]}),
        ("Event", {"kind": "turn_steered", "text": "x"}),
        ("Grant", {"kind": "host", "host": "h"}),
        ("JobInfo", {"id": "k1"}),
        ("ServerFrame", {"id": 1, "end": False}),
        ("ServerFrame", {"id": 1}),
    ],
)
def test_a_misfit_is_not_valid(name: str, value: Any) -> None:
    assert not validator(ref(name)).is_valid(value)


def test_a_pair_is_a_list_of_two_items() -> None:
    facts = DOCUMENT["$defs"]["ExitFacts"]["properties"]["previous_exits_this_turn"]["items"]
    assert (facts["minItems"], facts["maxItems"]) == (2, 2)
    assert "prefixItems" not in facts


def test_it_prints_writes_and_checks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "efr.wire.schema"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    target = tmp_path / "schema.json"
    stale = subprocess.run([*command, "--check", str(target)], capture_output=True, text=True)
    subprocess.run([*command, "--write", str(target)], check=True)

    assert stale.returncode == 1
    assert "not current" in stale.stderr
    assert target.read_bytes() == printed == SCHEMA_FILE.read_bytes()
    assert subprocess.run([*command, "--check", str(target)]).returncode == 0
    assert subprocess.run([*command, "--what"], capture_output=True).returncode == 2
