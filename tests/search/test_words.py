"""Words and marks: the pattern for ASCII and the index's own tokenizer say the same."""

from __future__ import annotations

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from efr.store.search.words import Words, _ranges
from efr.text.query import parse_query

CONN = apsw.Connection(":memory:")


def words(query: str) -> Words:
    return Words(CONN, parse_query(query))


def marked(query: str, text: str) -> list[str]:
    """What is marked, item by item."""
    return [text[a:b] for item in words(query).ranges(text) for a, b in item]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("disk", "The Disk, the disks and DISK-usage", ["Disk", "disks", "DISK"]),
        ("disk full", "full disk disks", ["disk", "full"]),
        ('"disk full"', "disk-full full disk, Disk (full)", ["disk-full", "Disk (full"]),
        ("gut", "größe 🙂 gut", ["gut"]),
        ("grö", "Größe 🙂 gut", ["Größe"]),
        ("groß", "Größe GROSS grosse", ["Größe"]),
        ("gr", "größe gr", ["gr"]),
        ("foo-bar", "foo bar foo_barn foo", ["foo bar", "foo_barn"]),
        ("e\u0301te", "été ete", ["été", "ete"]),
        ('"a a"', "a a a", ["a a", "a a"]),
    ],
)
def test_marks(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


def test_items_without_a_word_do_not_count() -> None:
    assert words('*** "-" :').wanted == ()
    assert words("disk ***").match == '"disk"'
    assert words("a b").match == '"a" "b"'
    assert words("a bcd").match == '"a" "bcd" *'
    assert words("x-a").match == '"x-a"'  # its last word has one letter


def test_counts_need_every_item() -> None:
    found = words("disk full")
    assert found.counts("full disk, full") == [1, 2]
    assert found.counts("full disc") is None
    assert found.counts("größe disk full") == [1, 1]


SIGNS = "ab AB0-_.é\u0301ß\n"


@given(st.text(SIGNS, max_size=12), st.text(SIGNS, max_size=40))
def test_the_pattern_and_the_tokenizer_agree(query: str, text: str) -> None:
    looking = words(query)
    plain = text.encode("ascii", "ignore").decode()
    split = looking._words(plain)
    assert looking.ranges(plain) == [list(_ranges(one, split)) for one in looking.wanted]
    assert looking.count(plain) == len(split)
    for one, found in zip(looking.wanted, looking.ranges(plain), strict=True):
        if found and "".join(one.words).isascii():
            held = CONN.execute("SELECT ' ' || lower(?) || ' ' GLOB ?", (plain, one.glob)).get
            assert held == 1


@given(st.text(max_size=30))
def test_ranges_count_code_points(text: str) -> None:
    for word in words("x")._words(text):
        assert not text[word.start : word.end].isspace()
        assert 0 <= word.start < word.end <= len(text)
