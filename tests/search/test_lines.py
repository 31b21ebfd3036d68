"""Which lines of a hit are shown."""

from __future__ import annotations

import apsw

from efr.store.search.lines import LINE_LIMIT, Line, first_lines, matching_lines, merged
from efr.store.search.words import Words
from efr.text.indexed import LINE_END
from efr.text.query import parse_query

CONN = apsw.Connection(":memory:")


def lines(query: str, *text: str, most: int = 3) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
    words = Words(CONN, parse_query(query))
    found = matching_lines(words, LINE_END.join(text), most)
    return [(line.text, line.ranges) for line in found]


def test_lines_that_match_in_their_order() -> None:
    assert lines("disk", "no", "a disk", "no", "Disks") == [
        ("a disk", ((2, 6),)),
        ("Disks", ((0, 5),)),
    ]


def test_letters_that_fold_are_found_beside_lines_without_any() -> None:
    assert lines("gro", "İ no", "die Größe", "nothing", "GROSS", "x") == [
        ("die Größe", ((4, 9),)),
        ("GROSS", ((0, 5),)),
    ]
    assert lines("größe", "a size", "Größe") == [("Größe", ((0, 5),))]


def test_lines_with_more_items_come_before_the_first_ones() -> None:
    found = lines("disk full", "disk", "full", "disk", "a full disk", most=2)
    assert found == [("disk", ((0, 4),)), ("a full disk", ((2, 6), (7, 11)))]


def test_a_phrase_over_two_lines_is_marked_in_both() -> None:
    assert lines('"disk full"', "x", "a disk", "full of it", "full") == [
        ("a disk", ((2, 6),)),
        ("full of it", ((0, 4),)),
    ]
    assert lines('"disk full"', "a disk", "full of it", most=1) == [("a disk", ((2, 6),))]
    assert lines('"a größe b"', "eine a", "", "Größe", "b c") == [
        ("eine a", ((5, 6),)),
        ("Größe", ((0, 5),)),
        ("b c", ((0, 1),)),
    ]


def test_a_long_line_is_cut_around_its_first_mark() -> None:
    ((text, ranges),) = lines("disk", "x " * 400 + "disk " + "y " * 400 + "disk")
    assert len(text) == LINE_LIMIT
    assert text[0] == text[-1] == "…"
    assert [text[a:b] for a, b in ranges] == ["disk"]
    ((text, ranges),) = lines("disk", "disk " + "y " * 400)
    assert (text[:6], text[-1], ranges) == ("disk y", "…", ((0, 4),))
    ((text, ranges),) = lines("disk", "y " * 400 + "disk")
    assert (text[0], text[-4:], ranges) == ("…", "disk", ((LINE_LIMIT - 5, LINE_LIMIT - 1),))


def test_the_beginning_of_a_text() -> None:
    assert first_lines(LINE_END.join("abc"), 2) == (Line("a"), Line("b"))
    assert len(first_lines("x" * 1000, 2)[0].text) == LINE_LIMIT - 1


def test_ranges_merge() -> None:
    assert merged([(5, 7), (0, 2), (1, 3), (3, 4)]) == ((0, 4), (5, 7))
    assert merged([]) == ()
