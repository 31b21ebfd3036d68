"""What of a program's output reaches the user's terminal, and how a snapshot is drawn on it."""

from __future__ import annotations

import random

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.cli.attach.paint import KEY_MODES, paint
from efr.cli.attach.passing import Passing
from efr.wire import types as t

PASSES = [
    b"plain text\r\n\ttab\b \x07",
    "größe 漢字 👩‍👧".encode(),
    b"\x1b[1;31mred\x1b[0m\x1b[38;2;1;2;3m\x1b[4:3m",
    b"\x1b[H\x1b[2J\x1b[3;4H\x1b[K\x1b[2A\x1b[5C\x1b[L\x1b[3M\x1b[2P\x1b[3@\x1b[2S\x1b[2T\x1b[5b",
    b"\x1b7\x1b8\x1bD\x1bE\x1bM\x1bH\x1b[g\x1b[s\x1b[u\x1b[2;9r",
    b"\x1b=\x1b>\x1b(0lqk\x1b(B\x1b#8\x1b[!p",
    b"\x1b[?25l\x1b[?25h\x1b[?1;2004h\x1b[?1000h\x1b[?1006h\x1b[?2026h\x1b[?2026l\x1b[4h\x1b[4l",
]

CHANGED = [
    ("a title", b"a\x1b]0;title\x07b\x1b]2;t\x1b\\c", b"abc"),
    ("a clipboard", b"\x1b]52;c;aGk=\x07", b""),
    ("a mark", b"\x18\x1b]133;A;aid=0123\x07$ ", b"$ "),
    ("a link", b"\x1b]8;;http://x\x1b\\l\x1b]8;;\x1b\\", b"l"),
    ("questions", b"\x1b[c\x1b[>c\x1b[0c\x1b[5n\x1b[6n\x1b[?6n\x1b[?2026$p\x1b]11;?\x07", b""),
    ("questions about keys", b"\x1b[?u\x1b[>1u\x1b[<u\x1b[=1;1u\x1b[>4;2m\x1b[?4m", b""),
    ("terminfo questions", b"\x1bP+q544e\x1b\\", b""),
    ("a picture", b"\x1bPq#0;2;0;0\x1b\\x\x1b_Gf=100;AAAA\x1b\\", b"x"),
    ("tmux passthrough", b"\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\y", b"y"),
    ("window operations", b"\x1b[8;3;3t\x1b[21t\x1b[22;0t", b""),
    ("what scrolled off", b"\x1b[3J\x1b[2J", b"\x1b[2J"),
    ("cursor shape", b"\x1b[2 q", b""),
    ("eight bit controls", "a\x9b2Jb\x9d0;t\x9c".encode(), b"a2Jb0;t"),
    ("null and delete", b"a\0\x7fb\x0e\x0f", b"ab"),
    ("bad bytes", b"a\xffb", "a\ufffdb".encode()),
    ("other modes", b"\x1b[?3h\x1b[?69;25h\x1b[2h", b"\x1b[?25h"),
    ("a reset", b"\x1bcx", b"\x1b[!p\x1b[m\x1b[r\x1b[H\x1b[2Jx"),
    ("the keypad as a mode", b"\x1b[?66h\x1b[?66l", b"\x1b=\x1b>"),
    ("a saved cursor", b"\x1b[?1048h\x1b[?1048l", b"\x1b7\x1b8"),
    ("the other screen", b"a\x1b[?1049hb", b"a\x1b[m\x1b[r\x1b[2Jb"),
    ("the other screen twice", b"\x1b[?1049h\x1b[?47h", b"\x1b[m\x1b[r\x1b[2J"),
    ("an aborted string", b"\x1b]0;t\x18x\x1bPq\x1ay", b"xy"),
    ("a broken osc", b"\x1b]0;t\x1b[1mx", b"\x1b[1mx"),
    ("an unknown sequence", b"\x1b[1;2zx\x1b[5iy\x1b%Gz", b"xyz"),
]


@pytest.mark.parametrize("data", PASSES)
def test_what_draws_passes(data: bytes) -> None:
    assert Passing().feed(data) == data


@pytest.mark.parametrize(
    ("data", "passed"), [row[1:] for row in CHANGED], ids=[row[0] for row in CHANGED]
)
def test_what_does_more_than_draw_does_not(data: bytes, passed: bytes) -> None:
    assert Passing().feed(data) == passed


def test_a_mode_of_more_digits_than_an_int_may_have_is_left_out() -> None:
    assert Passing().feed(b"\x1b[?" + b"9" * 5000 + b";25hx") == b"\x1b[?25hx"


def test_every_split_passes_the_same() -> None:
    data = b"".join([*PASSES, *(row[1] for row in CHANGED)])
    whole = Passing().feed(data)
    one_by_one = Passing()
    assert b"".join(one_by_one.feed(data[n : n + 1]) for n in range(len(data))) == whole
    random_ = random.Random(7)
    for _ in range(40):
        passing, at, got = Passing(), 0, b""
        while at < len(data):
            size = random_.randint(1, 60)
            got += passing.feed(data[at : at + size])
            at += size
        assert got == whole


PIECES = [
    *PASSES,
    *(row[1] for row in CHANGED),
    b"\x1b",
    b"[",
    b"]",
    b"0;",
    b"?1049",
    b"h",
    b"\xc2",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.binary(max_size=6)), max_size=12))
def test_what_passed_holds_nothing_that_would_not_pass(pieces: list[bytes]) -> None:
    passed = Passing().feed(b"".join(pieces))
    assert Passing().feed(passed) == passed


def test_who_leaves_the_other_screen_waits_for_the_daemons() -> None:
    passing = Passing()
    passing.painted(alternate=True)
    assert passing.feed(b"x\x1b[?1049l$ old\x1b[?25h") == b"x"
    assert passing.is_stale
    assert passing.feed(b"more\x1b[1m") == b""
    passing.painted(alternate=False)
    assert passing.feed(b"$ new") == b"$ new"
    assert passing.feed(b"\x1b[?1049l.") == b"."


def test_a_stream_that_goes_on_elsewhere_forgets_what_was_unfinished() -> None:
    passing = Passing()
    for cut in (b"\x1b]0;ti", b"\x1bPq", b"\x1b[3", b"\xe6\xbc"):
        passing.feed(cut)
        passing.restart()
        assert passing.feed(b"mx") == b"mx"


def drawn(snapshot: t.ScreenSnapshot, columns: int, rows: int) -> pyte.Screen:
    screen = pyte.Screen(columns, rows)
    pyte.ByteStream(screen).feed(b"rubbish\r\n" * 30 + paint(snapshot, columns, rows))
    return screen


def cells(text: str, **style: object) -> tuple[t.Cell, ...]:
    return tuple(t.Cell(text="" if c == " " else c, **style) for c in text)  # type: ignore[arg-type]


def test_a_snapshot_is_drawn_over_whatever_was_there() -> None:
    red, own = t.Color(indexed=1), t.Color(rgb=(1, 2, 3))
    wide = (t.Cell(text="漢", wide=True), t.Cell(text=""))
    snapshot = t.ScreenSnapshot(
        size=t.Size(cols=10, rows=3),
        cursor=t.CursorPos(row=1, col=2),
        rows=(
            t.RowCells(cells=(*cells("a b", fg=red, bold=True), *wide, *cells("!", bg=own))),
            t.RowCells(cells=()),
            t.RowCells(cells=cells("last row..")),
        ),
        modes=(1, 66),
    )
    screen = drawn(snapshot, 10, 3)
    assert [row.rstrip() for row in screen.display] == ["a b漢!", "", "last row.."]
    assert (screen.cursor.y, screen.cursor.x, screen.cursor.hidden) == (1, 2, False)
    assert (screen.buffer[0][0].fg, screen.buffer[0][0].bold) == ("red", True)
    assert (screen.buffer[0][5].bg, screen.buffer[0][5].bold) == ("010203", False)
    assert [row.rstrip() for row in drawn(snapshot, 4, 2).display] == ["a b", ""]
    data = paint(snapshot, 10, 3)
    assert b"\x1b[?1h" in data
    assert b"\x1b=" in data
    assert b"\x1b[?1;1000;1002;1003;1004;1005;1006;1015;2004l" in data


def test_the_ways_of_the_mouse_are_set_when_all_are_off() -> None:
    """To end one of them ends all of them, in xterm and those like it."""
    snapshot = t.ScreenSnapshot(
        size=t.Size(cols=2, rows=1),
        cursor=t.CursorPos(row=0, col=0),
        rows=(),
        modes=(1000, 1006, 2004),
    )
    data = paint(snapshot, 2, 1)
    assert max(data.rfind(b"%dl" % mode) for mode in KEY_MODES) < data.index(b"\x1b[?1000h")
    assert b"\x1b[?1006h" in data


@pytest.mark.parametrize(
    ("row", "col", "shown", "at"),
    [
        (0, 0, ["0漢0", "1漢1"], (0, 0)),
        (1, 3, ["0漢0", "1漢1"], (1, 3)),
        (3, 1, ["2漢2", "3漢3"], (1, 1)),
        (2, 4, ["漢1a", "漢2a"], (1, 3)),
        (0, 5, [" 0ab", " 1ab"], (0, 3)),  # the half of a wide character is a blank
    ],
)
def test_of_a_larger_screen_the_part_with_the_cursor_shows(
    row: int, col: int, shown: list[str], at: tuple[int, int]
) -> None:
    def line(name: str) -> t.RowCells:
        wide = (t.Cell(text="漢", wide=True), t.Cell(text=""))
        return t.RowCells(cells=(t.Cell(text=name), *wide, *cells(f"{name}ab")))

    snapshot = t.ScreenSnapshot(
        size=t.Size(cols=6, rows=4),
        cursor=t.CursorPos(row=row, col=col),
        rows=tuple(line(str(n)) for n in range(4)),
    )
    screen = drawn(snapshot, 4, 2)
    assert [text.rstrip() for text in screen.display] == shown
    assert (screen.cursor.y, screen.cursor.x) == at


@pytest.mark.parametrize(
    ("text", "is_lost"),
    [
        ("a", False),
        ("é", False),
        ("漢", False),
        ("☺", False),
        ("e\u0301", True),
        ("❤\ufe0f", True),
        ("1\ufe0f\u20e3", True),
        ("👍", True),  # a skin tone may follow in the next cell
        ("🇩", True),
        ("👩\u200d", True),
        ("क\u094d", True),
    ],
)
def test_the_cursor_is_placed_after_what_terminals_draw_differently(
    text: str, is_lost: bool
) -> None:
    row = t.RowCells(cells=(t.Cell(text=text), t.Cell(text="b")))
    snapshot = t.ScreenSnapshot(
        size=t.Size(cols=2, rows=1), cursor=t.CursorPos(row=0, col=0), rows=(row,)
    )
    assert f"{text}\x1b[2Gb" in (drawn := paint(snapshot, 2, 1).decode()) or not is_lost
    assert f"{text}b" in drawn or is_lost


@pytest.mark.parametrize(
    ("colour", "codes"),
    [
        (t.Color(indexed=7), b"\x1b[0;37;47m"),
        (t.Color(indexed=9), b"\x1b[0;91;101m"),
        (t.Color(indexed=200), b"\x1b[0;38;5;200;48;5;200m"),
        (t.Color(rgb=(9, 8, 7)), b"\x1b[0;38;2;9;8;7;48;2;9;8;7m"),
    ],
)
def test_colours(colour: t.Color, codes: bytes) -> None:
    row = t.RowCells(cells=cells("x", fg=colour, bg=colour))
    snapshot = t.ScreenSnapshot(
        size=t.Size(cols=1, rows=1), cursor=t.CursorPos(row=0, col=0, hidden=True), rows=(row,)
    )
    data = paint(snapshot, 1, 1)
    assert codes + b"x" in data
    assert b"\x1b[?25h" not in data
