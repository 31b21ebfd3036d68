"""Reading a search query."""

from __future__ import annotations

import pytest

from efr.text.query import BadQuery, Item, parse_query


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("", ()),
        (' \t "" ', ()),
        ("disk", (Item("disk", True),)),
        ("full disk ", (Item("full"), Item("disk", True))),
        ('"full disk"', (Item("full disk"),)),
        ('a "b  c" d', (Item("a"), Item("b  c"), Item("d", True))),
        ('a"b"c', (Item("a"), Item("b"), Item("c", True))),
        ('a" OR *', (Item("a"), Item("OR"), Item("*", True))),
        ('"fix the te', (Item("fix"), Item("the"), Item("te", True))),
        ("nul\x00l \x1b", (Item("nul"), Item("l", True))),
    ],
)
def test_items(query: str, items: tuple[Item, ...]) -> None:
    assert parse_query(query) == items


def test_limits() -> None:
    assert len(parse_query("ü" * 256)) == 1
    with pytest.raises(BadQuery) as over:
        parse_query("ü" * 257)
    assert (over.value.limit, over.value.units) == (256, "characters")
    assert len(parse_query("a " * 15 + '"b c"')) == 16
    with pytest.raises(BadQuery) as over:
        parse_query("a " * 17)
    assert (over.value.limit, over.value.units) == (16, "words and phrases")
