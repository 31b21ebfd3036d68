"""The mark scanner: tables of streams and their signs, and the same signs for every split."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from efr.shell.marks import Mark
from efr.shell.scanner import BODY_LIMIT, Query, Scanner, Sign

NONCE = b"0123456789abcdef0123456789abcdef"

# Stream, and for each sign what it is; a mark as (action, status, aid, kind, text).
TABLE: list[tuple[bytes, list[object]]] = [
    (b"plain", []),
    (b"\x1b]133;A\x07", [("A", None, None, None, None)]),
    (b"\x1b]133;A;cl=line;aid=x\x1b\\", [("A", None, "x", None, None)]),
    (b"\x1b]133;P;k=s\x07", [("P", None, None, "s", None)]),
    (b"\x1b]133;B\x07\x1b]133;C\x07", [("B", *[None] * 4), ("C", *[None] * 4)]),
    (b"\x1b]133;D\x07", [("D", *[None] * 4)]),
    (
        b"\x1b]133;D;0\x07\x1b]133;D;130;aid=y\x07",
        [("D", 0, *[None] * 3), ("D", 130, "y", None, None)],
    ),
    (b"\x1b]133;D;;aid=y\x07", [("D", None, "y", None, None)]),
    (b"\x1b]133;D;-1\x07\x1b]133;D;1x\x07\x1b]133;D;1234\x07", [("D", *[None] * 4)] * 3),
    (b"\x1b]133;A;k=q;k=i;aid=a;aid=b\x07", [("A", None, "a", "i", None)]),
    (b"\x1b]133;A;aid=\x07\x1b]133;A;aid\x07\x1b]133;A;zz=1\x07", [("A", *[None] * 4)] * 3),
    (b"\x1b]133;L\x07\x1b]133;N\x07\x1b]133\x07\x1b]133;\x07\x1b]133;AB\x07\x1b]1337;A\x07", []),
    (b"\x1b]7;kitty-shell-cwd://host/a b/%41\x07", [("cwd", None, None, None, "/a b/%41")]),
    (b"\x1b]7;file://host/a%20b/%C3%A9\x07", [("cwd", None, None, None, "/a b/é")]),
    (b"\x1b]7;file:///x\x07", [("cwd", None, None, None, "/x")]),
    (b"\x1b]7;file://host/a%0Ab\x07\x1b]7;http://h/x\x07\x1b]7;file://host\x07\x1b]7;/x\x07", []),
    (b"\x1b]133;efr-sbx;" + NONCE + b"\x07", [("sbx", None, None, None, NONCE.decode())]),
    (b"\x1b]133;efr-sbx;" + NONCE.upper() + b"\x07", []),
    (b"\x1b]133;efr-sbx;" + NONCE + b"0\x07\x1b]133;efr-sbx;" + NONCE + b";x\x07", []),
    # What is no end, and what ends everything.
    (b"\x1b]133;A\x1b[0m\x1b]133;B\x07", [("B", *[None] * 4)]),
    (b"\x1b]133;A\x1b]133;B\x07", [("B", *[None] * 4)]),
    (b"\x1b]133;A\x18\x1b]133;B\x07", [("B", *[None] * 4)]),
    (b"\x1b]133;A\x1a\x07\x1b]133;B\x07", [("B", *[None] * 4)]),
    (b"\x9d133;A\x07\x1b]133;A\x9c\x1b]133;B\x07", [("B", *[None] * 4)]),
    (b"\x1b\x1b]133;A\x07", [("A", *[None] * 4)]),
    (b"\x1b[31\x1b]133;A\x07", [("A", *[None] * 4)]),
    (b"\x1b[3\x18\x1b]133;A\x07", [("A", *[None] * 4)]),
    # Strings: skipped to their end, whatever is inside.
    (b"\x1bP\x1b]133;A\x07\x1b\\\x1b]133;B\x07", [("B", *[None] * 4)]),
    (b"\x1bPtmux;\x1b\x1b]133;A\x07\x1b\x1b\\\x1b\\\x1b]133;B\x07", [("B", *[None] * 4)]),
    (b"\x1bX\x1b]133;A\x07\x1b\\\x1b^\x1b]133;A\x07\x1b\\\x1b_\x1b]133;A\x07\x1b\\", []),
    (b"\x1bPq\x18\x1b]133;A\x07", [("A", *[None] * 4)]),
    (b"\x1b]" + b"x" * BODY_LIMIT + b"\x07\x1b]133;A\x07", [("A", *[None] * 4)]),
    (
        b"\x1b]133;A;aid=x;cmdline=" + b"y" * (BODY_LIMIT - 20) + b"\x07",
        [("A", None, "x", None, None)],
    ),
    (
        b"\x1b]133;A;aid=x;cmdline=" + b"y" * (BODY_LIMIT - 19) + b"\x07\x1b]133;B\x07",
        [("B", *[None] * 4)],
    ),
    (b"\x1b]133;A;" + b"y" * BODY_LIMIT + b"\x1b]133;B\x07", [("B", *[None] * 4)]),
    # Questions.
    (
        b"\x1b[c\x1b[0c\x1b[>c\x1b[5n\x1b[6n\x1b[?6n",
        ["device", "device", "device2", "status", "cursor", "cursor_dec"],
    ),
    (b"\x1b[?2004$p\x1b]11;?\x07\x1b]10;?\x1b\\", ["mode", "colour", "colour"]),
    (b"\x1b[1c\x1b[?c\x1b[=c\x1b[7n\x1b]11;#fff\x07\x1b]12;?\x07\x1b[?$p", []),
]


def signs_of(pieces: list[bytes]) -> list[Sign]:
    scanner = Scanner()
    return [sign for piece in pieces for sign in scanner.feed(piece)]


def form(sign: Sign) -> object:
    if isinstance(sign, Mark):
        return (sign.action, sign.status, sign.aid, sign.kind, sign.text)
    return sign.kind


@pytest.mark.parametrize(("stream", "wanted"), TABLE, ids=[repr(s[:40]) for s, _ in TABLE])
def test_a_stream_has_the_signs_of_the_table(stream: bytes, wanted: list[object]) -> None:
    whole = signs_of([stream])

    assert [form(sign) for sign in whole] == wanted
    assert signs_of([bytes([byte]) for byte in stream]) == whole
    assert signs_of([stream, b"tail\r\n"]) == whole
    step = max(1, len(stream) // 50)
    for at in range(0, len(stream), step):
        assert signs_of([stream[:at], stream[at:]]) == whole


def test_a_mark_knows_its_first_and_last_byte() -> None:
    stream = b"ab\x1b]133;C\x1b\\out\x1b]133;D;1\x07$"

    first, second = signs_of([stream])

    assert isinstance(first, Mark)
    assert isinstance(second, Mark)
    assert stream[first.start : first.last + 1] == b"\x1b]133;C\x1b\\"
    assert stream[second.start : second.last + 1] == b"\x1b]133;D;1\x07"


def test_a_recording_that_goes_on_keeps_its_offsets() -> None:
    scanner = Scanner(1000)

    (mark,) = scanner.feed(b"ab\x1b]133;C\x07")

    assert isinstance(mark, Mark)
    assert (mark.start, mark.last) == (1002, 1009)


@pytest.mark.parametrize(
    "begun", [b"\x1b]133;", b"\x1b", b"\x1b[3", b"\x1bP", b"\x1b]" + b"x" * 5000]
)
def test_a_gap_drops_what_was_begun(begun: bytes) -> None:
    scanner = Scanner()
    scanner.feed(begun)
    scanner.gap(9000)

    assert scanner.feed(b"A\x07") == []
    (mark,) = scanner.feed(b"\x1b]133;B\x07")
    assert isinstance(mark, Mark)
    assert mark.start == 9002


def test_modes_and_the_alternate_screen_are_known() -> None:
    scanner = Scanner()
    states = []
    for piece in (
        b"\x1b[?1049h",
        b"\x1b[?25l\x1b[?2004h",
        b"\x1b[?1049;2004l",
        b"\x1b[?47h",
        b"\x1bc",
        b"\x1b[?1049h\x1b[?1047h\x1b[?47l",
        b"\x1b[?1000h\x1b[?1002h\x1b[?1006h",  # xterm has one way of the mouse at a time
        b"\x1b[?1003l\x1b[?1015h",
        b"\x1b[?1;6;66h\x1b[?7;25l",
        b"\x1b[!p",
        b"\x1b[?" + b"1" * 200 + b"h\x1b[?3h\x1b[?4711;1016h",
    ):
        scanner.feed(piece)
        states.append((scanner.alternate, sorted(scanner.modes)))

    assert states == [
        (True, [7, 25, 1049]),
        (True, [7, 1049, 2004]),
        (False, [7]),
        (True, [7, 47]),
        (False, [7, 25]),
        (False, [7, 25]),
        (False, [7, 25, 1002, 1006]),
        (False, [7, 25, 1015]),
        (False, [1, 6, 66, 1015]),
        (False, [7, 25, 1015]),
        (False, [7, 25, 1015]),
    ]


_PIECES = st.sampled_from(
    [
        b"\x1b", b"]", b"133;", b"A", b"D;0", b"aid=x;", b"\x07", b"\x1b\\", b"\\", b"\x18",
        b"\x1a",
        b"P", b"_", b"[", b"31", b"m", b"?1049", b"h", b"6n", b"c", b"$p", b";", b"text\r\n",
        b"\x9c",
        b"7;file://h/x", b"11;?", b"x" * 300, "é漢".encode(), b"efr-sbx;" + NONCE,
        b"\x1b]8;;u\x07",
    ]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=60).map(b"".join), st.integers(0, 1 << 32))
def test_any_split_gives_the_same_signs(stream: bytes, seed: int) -> None:
    random_ = random.Random(seed)
    cuts = sorted(random_.sample(range(len(stream) + 1), min(5, len(stream) + 1)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, parts, bytewise = Scanner(), Scanner(), Scanner()

    wanted = whole.feed(stream)

    assert [sign for piece in pieces for sign in parts.feed(piece)] == wanted
    assert [s for byte in stream for s in bytewise.feed(bytes([byte]))] == wanted
    assert parts.modes == whole.modes == bytewise.modes
    assert all(isinstance(sign, Mark | Query) for sign in wanted)
