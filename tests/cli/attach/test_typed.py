"""The detach key in what is typed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from efr.cli.attach.typed import Typed

PASTE = b"\x1b[200~a\x1db\x1b[201~"


@pytest.mark.parametrize(
    ("reads", "keys", "detached"),
    [
        ([b"abc"], b"abc", False),
        ([b"\x1d"], b"", True),
        ([b"abc\x1ddef"], b"abc", True),
        ([b"abc", b"\x1d"], b"abc", True),
        ([PASTE], PASTE, False),
        ([PASTE, b"x\x1d"], PASTE + b"x", True),
        ([PASTE + b"\x1d" + PASTE], PASTE, True),
        ([b"\x1b[200~cut off", b"\x1d"], b"\x1b[200~cut off", True),
        ([b"\x1b[201~\x1d"], b"\x1b[201~", True),
        ([b"\x1b[A\x1b[20~\x1b[2004h"], b"\x1b[A\x1b[20~\x1b[2004h", False),
    ],
)
def test_keys_go_on_up_to_the_detach_key(reads: list[bytes], keys: bytes, detached: bool) -> None:
    typed = Typed()
    taken = [typed.take(read) for read in reads]
    assert b"".join(part for part, _ in taken) == keys
    assert [end for _, end in taken] == [False] * (len(reads) - 1) + [detached]


def test_a_paste_may_be_cut_anywhere_but_around_the_key_alone() -> None:
    """Two cuts for each; who types meets none of them."""
    key = PASTE.index(b"\x1d")
    for first in range(len(PASTE) + 1):
        for second in range(first, len(PASTE) + 1):
            if (first, second) == (key, key + 1):
                continue
            typed, got = Typed(), b""
            for start, end in pairwise([0, first, second, len(PASTE)]):
                part, detached = typed.take(PASTE[start:end])
                assert not detached
                got += part
            assert got == PASTE
            assert typed.take(b"q\x1d") == (b"q", True)
