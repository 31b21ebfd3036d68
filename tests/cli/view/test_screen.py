"""The two zones, read back by a terminal of its own."""

from __future__ import annotations

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli.render.paint import Palette
from efr.cli.render.spans import Line, row
from efr.cli.view.screen import Cursor, Screen, Size


class Pane:
    """A terminal in memory, and the screen that writes to it."""

    def __init__(self, columns: int = 20, rows: int = 8) -> None:
        self.terminal = pyte.HistoryScreen(columns, rows, history=1000)
        self._stream = pyte.Stream(self.terminal)
        self.raw: list[str] = []
        self.size = Size(columns, rows)
        self.screen = Screen(self.write, lambda: self.size, Palette())

    def write(self, text: str) -> None:
        self.raw.append(text)
        self._stream.feed(text.replace("\n", "\r\n"))

    @property
    def rows(self) -> list[str]:
        """Scrollback and screen, without the empty rows at the end."""
        old = [
            "".join(line[x].data for x in range(self.terminal.columns)).rstrip()
            for line in self.terminal.history.top
        ]
        text = [line.rstrip() for line in self.terminal.display]
        while text and not text[-1]:
            text.pop()
        return old + text


def lines(*texts: str) -> list[Line]:
    return [row(text) for text in texts]


def test_committed_rows_stay_and_live_rows_are_replaced() -> None:
    pane = Pane()
    pane.screen.draw(lines("one"), lines("live a", "live b"))
    pane.screen.draw(lines("two"), lines("live c"))

    assert pane.rows == ["one", "two", "live c"]


def test_a_live_row_that_the_terminal_draws_wider_stays_one_row() -> None:
    pane = Pane(columns=19)
    pane.size = Size(20, 8)  # as if one character took two columns there and one here
    pane.screen.draw(lines("one"), lines("x" * 20, "y" * 20))
    assert pane.rows == ["one", "x" * 19, "y" * 19]
    pane.screen.draw_last(row("z" * 20))
    pane.screen.draw(lines("two"), lines("live"))
    assert pane.rows == ["one", "two", "live"]
    assert pyte.modes.DECAWM in pane.terminal.mode, "the shell's lines wrap"


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.text("ab", min_size=1, max_size=30), max_size=3),
            st.lists(st.text("xy", max_size=20), max_size=12),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_after_any_frames_only_what_was_committed_is_left(
    frames: list[tuple[list[str], list[str], bool]],
) -> None:
    pane = Pane()
    for committed, live, with_cursor in frames:
        place = Cursor(len(live[-7:]) - 1, 1) if with_cursor and live else None
        pane.screen.draw(lines(*committed), lines(*live), place)
    pane.screen.erase()

    expected = [
        text[i : i + 20]
        for committed, _, _ in frames
        for text in committed
        for i in range(0, len(text), 20)
    ]
    assert pane.rows == expected


def test_the_live_zone_leaves_one_row_and_drops_its_upper_rows() -> None:
    pane = Pane(rows=4)
    pane.screen.draw(lines("done"), lines(*"abcdef"))

    assert pane.rows == ["done", "d", "e", "f"]


def test_a_full_row_does_not_scroll_the_zone_away() -> None:
    pane = Pane(columns=5)
    pane.screen.draw([], lines("aaaaa", "bbbbb"))
    pane.screen.draw([], lines("ccccc"))
    pane.screen.draw_last(row("ddddd"))

    assert pane.rows == ["ddddd"]


def test_a_tick_writes_only_the_last_row() -> None:
    pane = Pane()
    pane.screen.draw([], lines("open block", "⠋ status"))
    before = len(pane.raw)
    pane.screen.draw_last(row("⠙ status"))
    pane.screen.draw_last(row("⠙ status"))

    assert pane.rows == ["open block", "⠙ status"]
    assert [text for text in pane.raw[before:] if "open" in text] == []
    assert len(pane.raw) == before + 1


def test_rows_are_counted_again_when_the_terminal_became_narrower() -> None:
    pane = Pane(columns=10)
    pane.screen.draw(lines("kept"), lines("x" * 10, "y" * 10))
    pane.size = Size(5, 8)
    pane.raw.clear()
    pane.screen.draw([], lines("z"))

    assert "\r\x1b[3A\x1b[J" in pane.raw[0]


def test_each_frame_is_one_synchronized_write() -> None:
    pane = Pane()
    pane.screen.draw(lines("a"), lines("b"))
    pane.screen.draw(lines("c"), lines("d"), Cursor(0, 1))

    assert all(t.startswith("\x1b[?2026h") and t.endswith("\x1b[?2026l") for t in pane.raw)


def test_erase_shows_the_cursor_and_ends_bracketed_paste() -> None:
    pane = Pane()
    pane.screen.draw([], lines("b"), Cursor(0, 1))
    pane.screen.draw([], lines("b"))
    pane.screen.erase()
    pane.screen.erase()

    everything = "".join(pane.raw)
    assert everything.count("\x1b[?2004h") == everything.count("\x1b[?2004l") == 1
    assert everything.rindex("\x1b[?25h") > everything.rindex("\x1b[?25l")
    assert pane.rows == []


def test_the_cursor_stands_where_it_was_put() -> None:
    pane = Pane()
    pane.screen.draw(lines("a"), lines("status", "› text", "more"), Cursor(1, 4))

    assert (pane.terminal.cursor.y, pane.terminal.cursor.x) == (2, 4)
    pane.screen.draw([], lines("s2", "› t"), Cursor(1, 3))
    assert pane.rows == ["a", "s2", "› t"]
