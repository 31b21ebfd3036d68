"""Screens: the lazily fed one equals the one that saw every byte, and programs get answers."""

from __future__ import annotations

import random
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.shell.contract import Size
from efr.shell.feeder import Feeder
from efr.shell.lazy import LazyScreen
from efr.shell.scanner import Scanner
from efr.shell.screen import TerminalScreen
from tests.shell.rig import Rig

ROWS, COLUMNS = 12, 40


def lines(random_: random.Random) -> bytes:
    """Build output: text, colours, tabs, wide characters, carriage returns, long rows."""
    found = []
    for number in range(random_.randint(1, 400)):
        if random_.random() < 0.2:
            found.append(b"\x1b[%dm" % random_.choice([0, 1, 4, 31, 32, 39, 44]))
        if random_.random() < 0.02:
            found.append(b"\x1b[38;2;1;2;%dm" % (number % 255))
        found.append(
            random_.choice(
                [b"hello ", b"x" * random_.randint(0, 90), "漢字 é 👩‍👧".encode(), b"a\tb\bc\rq",
                 b"\x1b[K", b"\x1b[5C.", b"", b"\x1b]8;;u\x1b\\l\x1b]8;;\x1b\\", b"42%\r"]
            )
        )  # fmt: skip
        found.append(b"\r\n" if random_.random() < 0.97 else b"\n")
    return b"".join(found)


NOTEWORTHY = [
    b"\x1b[2J", b"\x1b[H", b"\x1b[5A", b"\x1b[3;20H", b"\x1b[3;8r", b"\x1b[r", b"\x1b[?1049h",
    b"\x1b[?1049l", b"\x1b7", b"\x1b8", b"\x1bM", b"\x1b[4h", b"\x1b[4l", b"\x1b[?7l", b"\x1b[?7h",
    b"\x1b[L", b"\x1b[3M", b"\x1b[2P", b"\x1b[3@", b"\x1bPq abc\r\n\x1b\\", b"\x1b]0;title\x07",
    b"\x1b[5b", b"\x1b[2S", b"\x1b[2T", b"\x1b(0lqk\x1b(B", b"\x1bc", b"\xff\xfe",
    b"\x1b[31\x18m",
    b"\x1b[38:2::1:2:3m", b"\x1b[?6h", b"\x1b[?6l", b"\x1b[1J", b"\x1b[1K", b"\x1b[!p",
    b"\x1b]0;open", b"\x18", b"\x1b[20h", b"\x1b[20l", b"\x1b[?25l", b"\x1b[3g", b"\x1bH",
    b"\x1b[2Z", b"\x1b[58;5;3m",
]  # fmt: skip


def stream_of(random_: random.Random) -> bytes:
    return b"".join(
        lines(random_) if random_.random() < 0.5 else random_.choice(NOTEWORTHY)
        for _ in range(random_.randint(2, 16))
    )


def whole(data: bytes) -> TerminalScreen:
    """The screen that saw every byte."""
    screen = TerminalScreen(COLUMNS, ROWS)
    feeder = Feeder(screen)
    for at in range(0, len(data), 501):
        feeder.feed(data[at : at + 501])
    return screen


def whole_resized(data: bytes, sizes: list[tuple[int, Size]]) -> TerminalScreen:
    """The same, with sizes at their offsets."""
    screen = TerminalScreen(COLUMNS, ROWS)
    feeder, at = Feeder(screen), 0
    for offset, size in sizes:
        feeder.feed(data[at:offset])
        screen.resize(size.rows, size.columns)
        at = offset
    feeder.feed(data[at:])
    return screen


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 32))
def test_a_lazy_screen_that_is_resized_does_too(seed: int) -> None:
    random_ = random.Random(seed)
    data = stream_of(random_)
    offsets = sorted(random_.randint(0, len(data)) for _ in range(random_.randint(1, 5)))
    sizes = [(at, Size(random_.randint(2, 60), random_.randint(2, 20))) for at in offsets]
    lazy, scanner = LazyScreen(COLUMNS, ROWS, window=2048), Scanner(long_run=3000)
    scanner.feed(data)
    for one in sizes:
        lazy.resize(*one)
    for end in (len(data) // 3, len(data)):
        lazy.catch_up(lambda a, b: data[a:b], end, (*scanner.runs, scanner.open_run))

    assert lazy.screen.state() == whole_resized(data, sizes).state()


RESIZED = [  # screen of 6 x 3: what was printed, the new size, the rows, the cursor's (x, y)
    (b"a\r\nb", (4, 2), ["a", "b"], (1, 1)),
    (b"a\r\nb\r\nc", (6, 2), ["b", "c"], (1, 1)),
    (b"a\r\nb\r\nc\x1b[H", (6, 2), ["a", "b"], (0, 0)),
    (b"abcdef", (4, 3), ["abcd", "", ""], (4, 0)),
    ("abc漢".encode(), (4, 3), ["abc", "", ""], (4, 0)),
    (b"a\r\nb", (6, 4), ["a", "b", "", ""], (1, 1)),
    (b"m\x1b[?1049hx\r\ny\r\nz\x1b[?1049l", (6, 1), ["m"], (1, 0)),
    (b"1\r\n2\r\n3\x1b[?1049h\x1b[Hx", (6, 2), ["x", ""], (1, 0)),
]


@pytest.mark.parametrize(("printed", "size", "rows", "cursor"), RESIZED)
def test_a_screen_takes_another_size(
    printed: bytes, size: tuple[int, int], rows: list[str], cursor: tuple[int, int]
) -> None:
    screen = TerminalScreen(6, 3)
    Feeder(screen).feed(printed)
    columns, lines = size
    screen.resize(lines, columns)

    assert screen.texts(0, lines - 1) == rows
    assert (screen.cursor.x, screen.cursor.y) == cursor


def test_the_main_screen_is_resized_behind_the_alternate_one() -> None:
    screen = TerminalScreen(6, 3, scrollback=9)
    feeder = Feeder(screen)
    feeder.feed(b"1\r\n2\r\n3\x1b[?1049h")
    screen.resize(2, 4)
    feeder.feed(b"\x1b[?1049l!")

    assert screen.texts(0, 1) == ["2", "3!"]
    assert list(screen.scrolled) == [("1", False)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 32))
def test_the_lazy_screen_equals_the_one_that_saw_every_byte(seed: int) -> None:
    random_ = random.Random(seed)
    data = stream_of(random_)
    lazy = LazyScreen(COLUMNS, ROWS, window=2048)
    scanner, at = Scanner(long_run=3000), 0
    while at < len(data):
        size = random_.randint(1, len(data))
        scanner.feed(data[at : at + size])
        at = min(at + size, len(data))
        if random_.random() < 0.5 or at == len(data):
            lazy.catch_up(lambda a, b: data[a:b], at, (*scanner.runs, scanner.open_run))

    assert lazy.position == len(data)
    assert lazy.screen.state() == whole(data).state()


def test_plain_output_is_jumped_over() -> None:
    data = b"".join(b"\x1b[32mline\x1b[0m %d\r\n" % n for n in range(200_000))
    read: list[int] = []
    lazy, scanner = LazyScreen(COLUMNS, ROWS), Scanner()
    scanner.feed(data)

    def reading(start: int, end: int) -> bytes:
        read.append(end - start)
        return data[start:end]

    lazy.catch_up(reading, len(data), (*scanner.runs, scanner.open_run))

    assert sum(read) < len(data) / 10
    assert lazy.screen.texts(ROWS - 2, ROWS - 1) == ["line 199999", ""]
    assert lazy.screen.state() == whole(data[-10_000:][data[-10_000:].index(b"\n") + 1 :]).state()


def test_the_rows_above_the_screen_are_kept_and_a_jump_leaves_the_newest() -> None:
    data = b"".join(b"line %d\r\n" % n for n in range(100_000))
    lazy, scanner = LazyScreen(COLUMNS, ROWS, scrollback=1000), Scanner()
    for end in (5000, len(data)):
        scanner.feed(data[lazy.position : end])
        lazy.catch_up(lambda a, b: data[a:b], end, (*scanner.runs, scanner.open_run))
        above = [text for text, _ in lazy.screen.scrolled]
        shown = lazy.screen.texts(0, 0)[0]
        newest = int(shown.split()[1])
        assert above == [f"line {n}" for n in range(newest - len(above), newest)]
        assert len(above) >= min(200, newest)


def test_catching_up_can_be_stopped_and_goes_on() -> None:
    data = stream_of(random.Random(4)) + b"\x1b[H" + b"\x1b[Ax" * 40_000
    lazy, scanner = LazyScreen(COLUMNS, ROWS), Scanner()
    scanner.feed(data)
    stops, steps = cycle((False, True)), 0
    while not lazy.catch_up(
        lambda a, b: data[a:b],
        len(data),
        (*scanner.runs, scanner.open_run),
        lambda: next(stops),
    ):
        steps += 1

    assert steps > 3
    assert lazy.screen.state() == whole(data).state()


def test_a_recording_that_lost_its_start_is_skipped() -> None:
    lazy = LazyScreen(COLUMNS, ROWS)

    assert lazy.catch_up(lambda a, b: b"", 5000, ())
    assert lazy.position == 5000


# Stream, rows of the screen, cursor.
SCREENS = [
    (b"abc\r\nd", ["abc", "d"], (1, 1)),
    ("漢x\x1b[1;2Hy".encode(), [" yx"], (2, 0)),
    ("漢字\x1b[1;1Hx".encode(), ["x 字"], (1, 0)),
    (b"x" * 45, ["x" * 40, "xxxxx"], (5, 1)),
    (b"x" * 39 + "漢".encode(), ["x" * 39, "漢"], (2, 1)),
    (b"x" * 40, ["x" * 40], (40, 0)),
    (b"\x1b[?7l" + b"x" * 40 + b"yz", ["x" * 39 + "z"], (40, 0)),
    (b"a\x1b[>4;1mb\x1b[=1uc\x1b[<ud\x1b[?uz", ["abcdz"], (5, 0)),
    (b"a\x1b[4:3mb\x1b[58;2;1;2;3mc\x1b[58:5:1md", ["abcd"], (4, 0)),
    (b"ab\x1b[sxx\x1b[uY", ["abYx"], (3, 0)),
    (b"a\r\nb\r\nc\x1b[2;1H\x1b[Tx", ["", "x", "b", "c"], (1, 1)),
    (b"main\x1b[?1049h\x1b[Hother", ["other"], (5, 0)),
    (b"main\x1b[?1049h\x1b[5;5Hother\x1b[?1049l!", ["main!"], (5, 0)),
    (b"\x1bPpayload\x1b\\\x1b_more\x1b\\ok", ["ok"], (2, 0)),
    ("e\u0301a\u200db\ufe0fc\u200bd".encode(), ["e\u0301a\u200db\ufe0fc\u200bd"], (5, 0)),
    (b"abcdef\x1b[3D\x1b[2X!", ["abc! f"], (4, 0)),
    (b"a\x1b[8;8H\x1b#8\x1b[2J", [], (7, 7)),
    (b"\x1b[3;5r\x1b[?6h\x1b[1;1Hx\x1b[?6l", ["", "", "x"], (0, 0)),
    (b"\x1b[2;3r\x1b[3;1Ha\r\nb\r\nc", ["", "b", "c"], (1, 2)),
    (b"\xc3", ["\ufffd"], (1, 0)),
    (b"\x1b[000000000003Ga", ["  a"], (3, 0)),
    # Python reads no number of more than 4300 digits.
    (b"\x1b[%bGa\x1b[?%bh\x1b[38;5;%bmb\x1b[4:%bm" % ((b"9" * 5000,) * 4), [" " * 39 + "a", "b"],
     (1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("stream", "rows", "cursor"), SCREENS, ids=[repr(s[0][:30]) for s in SCREENS]
)
def test_screens_of_the_table(stream: bytes, rows: list[str], cursor: tuple[int, int]) -> None:
    screen = TerminalScreen(COLUMNS, ROWS)
    feeder = Feeder(screen)
    feeder.feed(stream)
    if stream.endswith(b"\xc3"):
        feeder.feed(b"\x1b[m")
    texts = screen.texts(0, ROWS - 1)

    assert texts == [*rows, *[""] * (ROWS - len(rows))]
    assert (screen.cursor.x, screen.cursor.y) == cursor


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=400)
    | st.lists(st.sampled_from([*NOTEWORTHY, b"\x1b[9999;9999H"]), max_size=30).map(b"".join)
)
def test_no_stream_breaks_the_screen(data: bytes) -> None:
    screen = TerminalScreen(COLUMNS, ROWS, 50)
    feeder = Feeder(screen)
    feeder.feed(data)
    bytewise = TerminalScreen(COLUMNS, ROWS, 50)
    other = Feeder(bytewise)
    for byte in data:
        other.feed(bytes([byte]))

    assert bytewise.state() == screen.state()
    assert 0 <= screen.cursor.x <= COLUMNS
    assert 0 <= screen.cursor.y < ROWS


ASKS = r"""
import os, select, sys, termios, time, tty
old = termios.tcgetattr(0)
tty.setraw(0)
noise = int(sys.argv[1])
start = time.monotonic()
got = b''
for n in range(noise):
    os.write(1, b'\x1b[H\x1b[2Jnoise %d\r\n' % n * 20)
os.write(1, b'\x1b[4;7Hab\x1b[6n\x1b[c\x1b[5n\x1b[?2004$p\x1b]11;?\x07')
while got.count(b'R') < 1 or b'\x07' not in got:
    ready, _, _ = select.select([0], [], [], 15)
    if not ready: break
    got += os.read(0, 1000)
termios.tcsetattr(0, termios.TCSANOW, old)
os.write(1, b'\x1b[H\x1b[2J')
print(repr(got))
"""


@pytest.mark.parametrize("noise", [0, 2500])
def test_a_program_gets_all_its_answers(rig: Rig, noise: int) -> None:
    (rig.home / "asks.py").write_text(ASKS)

    end = rig.run(f"python3 -I asks.py {noise}")

    for part in (
        r"\x1b[4;9R",
        r"\x1b[?62;22c",
        r"\x1b[0n",
        r"\x1b[?2004;2$y",
        "rgb:1e1e/1e1e/1e1e",
    ):
        assert part in end.output


def test_a_program_left_running_gets_its_answers_too(rig: Rig) -> None:
    (rig.home / "asks.py").write_text(ASKS)
    rig.run("sleep 0.5; python3 -I asks.py 50 > /dev/tty; echo ok > done", timeout_s=0.1)
    rig.heard.wait_for("left_ended")

    assert (rig.home / "done").read_text() == "ok\n"
    assert rb"\x1b[4;9R" in rig.recorded
