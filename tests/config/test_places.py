"""Where keys and values stand in a TOML text."""

from __future__ import annotations

import tomllib
from typing import Any

import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.config.places import Layout, Path, layout, line_column

TEXT = r'''# ü
a.b = 1  # first
"ü.x" = 'y'

[t]  # a table
'k' = [1, { x = [ "]", 2 ] }, # c
  3]
long = """a \""" b
# no comment """""

[[t.many]]
x = 1.5e3
[[t.many]]
[t.many.sub]
z = { p.q = true, "r" = 1979-05-27 07:32:00 }
'''


def value(text: str, found: Layout, path: Path) -> str:
    span = found.spans[path]
    return text[span.value : span.end]


def test_the_text_of_each_value() -> None:
    assert tomllib.loads(TEXT)["t"]["many"][1]["sub"]["z"]["p"]["q"] is True
    for text in (TEXT, TEXT.replace("\n", "\r\n")):
        found = layout(text)
        assert value(text, found, ("a", "b")) == "1"
        assert value(text, found, ("ü.x",)) == "'y'"
        assert value(text, found, ("t", "k", 1, "x", 0)) == '"]"'
        assert value(text, found, ("t", "k", 2)) == "3"
        assert value(text, found, ("t", "long")).endswith('comment """""')
        assert value(text, found, ("t", "many", 0, "x")) == "1.5e3"
        assert value(text, found, ("t", "many", 1, "sub", "z", "r")) == "1979-05-27 07:32:00"
        assert [one.path for one in found.sections] == [
            (),
            ("t",),
            ("t", "many", 0),
            ("t", "many", 1),
            ("t", "many", 1, "sub"),
        ]


def test_lines_and_columns_count_characters_from_one() -> None:
    found = layout(TEXT)
    places = {path: line_column(TEXT, span.key) for path, span in found.spans.items()}
    assert places[("a", "b")] == (2, 3)
    assert places[("ü.x",)] == (3, 1)
    assert places[("t",)] == (5, 1)
    assert places[("t", "k", 1, "x", 1)] == (6, 24)
    assert places[("t", "k", 2)] == (7, 3)
    assert places[("t", "many", 1)] == (13, 1)


def leaves(value: Any, path: Path = ()) -> set[Path]:
    if isinstance(value, dict):
        return {path, *(leaf for k, v in value.items() for leaf in leaves(v, (*path, k)))}
    if isinstance(value, list):
        return {path, *(leaf for i, v in enumerate(value) for leaf in leaves(v, (*path, i)))}
    return {path}


KEYS = st.text(alphabet="ab ü.\"'-", min_size=1, max_size=4)
PLAIN = st.integers() | st.booleans() | st.text(alphabet="a\"'\\#]},=\n ü", max_size=8)
VALUES = st.recursive(
    PLAIN, lambda one: st.lists(one, max_size=3) | st.dictionaries(KEYS, one, max_size=3)
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_every_value_of_a_document_is_found_and_reads_back(document: dict[str, Any]) -> None:
    text = tomlkit.dumps(document)
    known = tomllib.loads(text)
    found = layout(text)
    assert leaves(known) - {()} <= set(found.spans) | {
        path for path in leaves(known) if isinstance(_at(known, path), dict)
    }
    for path, span in found.spans.items():
        if found.is_pair(path):
            assert tomllib.loads(f"x = {text[span.value : span.end]}")["x"] == _at(known, path)


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value
