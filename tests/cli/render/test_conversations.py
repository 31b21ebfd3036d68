"""Rows of conversations: the columns, to the character, and what a narrow terminal cuts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from efr.cli.render.conversations import (
    MATCH,
    Listed,
    found,
    marked,
    numbered,
    search_line,
    unnumbered,
)
from efr.cli.render.spans import text_of, width
from efr.wire import types as t

NOW_US = 1_800_000_000_000_000
MIN, H, D = 60, 3600, 86400
PROJECT = t.RouteProject("019a9b1c-3d00-7a10-8b20-0000000000f1")
ID = "019a9b1c-3d00-7a10-8b20-000000000001"


def one(
    title: str | None,
    age_s: int,
    turns: int,
    *,
    project: str | None = "app",
    route: t.RouteScope | None = PROJECT,
    here: bool = False,
    open_in: str | None = None,
) -> t.RecentRow:
    at = t.time_from_us(NOW_US - age_s * 1_000_000)
    return t.RecentRow(
        summary=t.ConversationSummary(
            id=ID,
            title=title,
            status=t.ConversationStatus.IDLE,
            created_at=at,
            updated_at=at,
            last_seq=9,
        ),
        route=route,
        project=project,
        turns=turns,
        here=here,
        open_in=open_in,
    )


ROWS = [
    Listed(one("fix the proxy test", 25 * MIN, 6, here=True)),
    Listed(one("why is the build slow", 2 * H, 3, open_in="/dev/pts/4")),
    Listed(one(None, 3 * D, 1, project=None)),
]


def hit(
    text: str, *ranges: tuple[int, int], kind: t.SearchKind = t.SearchKind.PROMPT
) -> t.SearchHit:
    line = t.SearchLine(text, tuple(t.Range(start=a, end=b) for a, b in ranges))
    at = t.time_from_us(NOW_US)
    return t.SearchHit(kind=kind, seq=1, at=at, history_cursor="c", lines=(line,))


def test_the_numbered_list_has_the_columns_of_its_page() -> None:
    assert [text_of(line) for line in numbered(ROWS, NOW_US, None)] == [
        " 1  fix the proxy test     app              25 min ago   6 turns   this terminal",
        " 2  why is the build slow  app              2 h ago      3 turns   open in /dev/pts/4",
        " 3  (no title)             removed project  3 d ago       1 turn",
    ]


def test_a_search_has_the_hit_and_the_short_id() -> None:
    outside = t.RouteOutside()
    rows = [
        Listed(
            one("rsync the photos to the laptop", 25 * MIN, 6, here=True),
            (t.Range(start=0, end=5),),
            "019a9b11",
            hit("please rsync ~/photos to the laptop and check its disk", (7, 12)),
        ),
        Listed(one("x", 5, 2, project=None, route=outside, open_in="/dev/pts/4"), (), "019a9b12"),
    ]
    lines = found(rows, NOW_US, None)
    assert [text_of(line) for line in lines] == [
        "rsync the photos to the laptop  app         25 min ago  6 turns   this terminal"
        "        019a9b11",
        "    please rsync ~/photos to the laptop and check its disk",
        "x                               no project  just now    2 turns   open in /dev/pts/4"
        "   019a9b12",
    ]
    assert [span.text for span in lines[1] if span.style == MATCH] == ["rsync"]
    assert [span.text for span in lines[0] if span.style == MATCH] == ["rsync"]


def test_a_match_in_the_title_alone_has_no_line_of_its_own() -> None:
    row = Listed(one("rsync", 5, 1), (), "019a9b11", hit("rsync", (0, 5), kind=t.SearchKind.TITLE))
    assert len(found([row], NOW_US, 80)) == 1


def test_titles_of_wide_characters_keep_the_columns() -> None:
    rows = [Listed(one("日本語の題", 5, 1)), Listed(one("plain", 5, 12))]
    first, second = (text_of(line) for line in numbered(rows, NOW_US, None))
    assert first == " 1  日本語の題  app  just now    1 turn"
    assert second == " 2  plain       app  just now  12 turns"


@given(
    st.lists(st.text(max_size=80), min_size=1, max_size=5),
    st.integers(min_value=20, max_value=120),
)
def test_every_row_fits_whatever_the_title_and_the_width(titles: list[str], columns: int) -> None:
    rows = [
        Listed(
            one(title, 25 * MIN, 6, open_in="/dev/pts/4", project=title),
            (t.Range(start=1, end=4),),
            "019a9b11",
            hit(title * 3, (len(title), len(title) + 2)),
        )
        for title in titles
    ]
    for lines in (
        numbered(rows, NOW_US, columns),
        found(rows, NOW_US, columns),
        unnumbered(rows, NOW_US, columns),
    ):
        assert max(map(width, lines)) <= columns
        assert not any("\n" in text_of(line) or "\x1b" in text_of(line) for line in lines)


def test_titles_are_cut_before_anything_else() -> None:
    lines = numbered(ROWS, NOW_US, 75)
    assert text_of(lines[1]) == (
        " 2  why is the…  app              2 h ago      3 turns   open in /dev/pts/4"
    )


def test_ranges_count_code_points_and_marks_survive_control_characters() -> None:
    line = marked("🤖 a\x1bb", (t.Range(start=2, end=3), t.Range(start=4, end=99)))
    assert [(span.text, span.style == MATCH) for span in line] == [
        ("🤖 ", False),
        ("a", True),
        ("␛", False),
        ("b", True),
    ]


def test_a_long_line_starts_shortly_before_its_match() -> None:
    text = "x" * 100 + " needle " + "y" * 100
    line = search_line(t.SearchLine(text, (t.Range(start=101, end=107),)), 60)
    assert text_of(line).startswith("…xxx")
    assert "needle" in text_of(line)
    assert width(line) == 60
    assert [span.text for span in line if span.style == MATCH] == ["needle"]
