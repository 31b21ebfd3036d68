"""What is made from the declared keys: the page, the JSON schema, the commented example."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from efr.config import docs
from efr.config.declared import declared
from efr.config.effective import is_given
from efr.config.example import example
from efr.config.json_schema import document
from efr.config.keys import RESTART_KEYS
from efr.config.load import read
from efr.config.page import BadPage, filled
from efr.config.schema import Settings
from tests.config.test_load import FAULTS

ROOT = Path(__file__).parents[2]


def test_the_files_are_current() -> None:
    assert [str(path) for path, text in docs.current(ROOT) if path.read_text() != text] == []


def test_a_page_needs_a_place_for_every_table() -> None:
    page = (ROOT / docs.PAGE).read_text()
    for broken in (page.replace("table shell ", "table shel "), page + page):
        with pytest.raises(BadPage):
            filled(broken)


def uncommented(text: str) -> str:
    return re.sub(r"(?m)^#(?![: ])(?=.)", "", text)


def test_the_example_is_valid_as_it_is_and_with_every_line_in_use() -> None:
    text = example()
    assert read(text.encode()) == Settings()
    whole = uncommented(text)
    read(whole.encode())
    found = tomllib.loads(whole)
    assert [key for key in declared() if not is_given(key, found)] == []


def test_the_example_names_every_key_once_and_marks_the_restart_keys() -> None:
    names: list[str] = []
    marked: set[str] = set()
    table, comment = "", ""
    for line in example().splitlines():
        if line.startswith("["):
            table = line[1:-1] + "."
        elif found := re.match(r"#(\w+) = ", line):
            name = table + found[1]
            names.append(name)
            if "Applies after a restart of efrd." in comment:
                marked.add(name)
        comment = f"{comment} {line[2:]}" if line.startswith("# ") else ""
    rules = {"action", "resource", "effect", "matches", "matches_not"}
    keys = [name for name in names if name.removeprefix("permissions.") not in rules]
    assert keys == [key for key in declared() if key != "permissions.rules"]
    assert marked == RESTART_KEYS


def test_the_schema_takes_what_a_load_takes() -> None:
    validator = jsonschema.Draft202012Validator(document())
    validator.check_schema(document())
    for text in ("", example(), uncommented(example())):
        validator.validate(tomllib.loads(text))


def test_the_schema_refuses_what_it_can_know_to_be_wrong() -> None:
    validator = jsonschema.Draft202012Validator(document())
    known = ("unknown key", "must be a whole", "must be true", "must be from", "must be one of")
    for text, error in FAULTS:
        if any(words in error for words in known) and "60.0" not in text:  # it is whole in JSON
            wrong: Any = json.loads(json.dumps(tomllib.loads(text), default=str))
            assert not validator.is_valid(wrong), text


def test_the_program_writes_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, _ in docs.current(ROOT):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(path.read_text() if path.suffix == ".md" else "old")
    assert docs.main(["--check", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("is not current: make schema") == 2
    assert docs.main(["--write", str(tmp_path)]) == 0
    assert docs.main(["--check", str(tmp_path)]) == 0
    (tmp_path / docs.PAGE).write_text("no table")
    assert docs.main(["--check", str(tmp_path)]) == 1
    assert docs.main([]) == 2
