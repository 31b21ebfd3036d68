"""Version 1 is frozen: what changes must be an addition that old readers and writers can take."""

from __future__ import annotations

import pytest

from tests.wire.shapes import breaks, frozen, shapes

T = "T"


def test_the_types_of_today_are_the_frozen_ones() -> None:
    """`make bless` freezes what was added and refuses what breaks."""
    now = shapes()
    assert breaks(frozen(), now) == []
    changed = [name for name, shape in now.items() if frozen().get(name) != shape]
    assert changed == [], "run `make bless`"


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("members: a! string", "members: a! string, b? string"),
        ("members: ", "members: b? string"),
        ("open: a | unknown", "open: a | b | unknown"),
        ("closed: a | b", "closed: a | b"),
    ],
)
def test_an_addition_is_taken(before: str, now: str) -> None:
    assert breaks({T: before}, {T: now, "New": "closed: x"}) == []


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [
        ("members: a! string", "members: a! string, b! string", "`b! string` is required"),
        ("members: a! string", "members: a? string", "`a! string` is gone or changed"),
        ("members: a? X, b? Y", "members: a? X, c? Z, b? Y", "new members come last: c? Z"),
        ("members: a? boolean = false", "members: a? boolean = true", "gone or changed"),
        ("members: a? string", "members: a? integer", "gone or changed"),
        ("open: a | b | unknown", "open: a | unknown", "b is gone"),
        ("open: a | unknown", "closed: a", "became"),
        ("closed: a | b", "closed: a | b | c", "old readers fail"),
        ("as it is: string", "as it is: integer", "became"),
    ],
)
def test_what_breaks_an_old_reader_or_writer_is_told(before: str, now: str, why: str) -> None:
    (told,) = breaks({T: before}, {T: now})
    assert told.startswith(f"{T}: ")
    assert why in told


def test_a_type_stays() -> None:
    assert breaks({T: "closed: a"}, {}) == ["T is gone"]
