"""The remembered ids: bounded, and never without None while another thread reads."""

from __future__ import annotations

import threading

from efr.wire.settle import _SEEN_LIMIT, _SeenIds


def test_none_stays_while_the_memory_is_emptied() -> None:
    seen = _SeenIds((None,))
    done = threading.Event()
    missed: list[int] = []

    def read() -> None:
        while not done.is_set():
            if None not in seen:
                missed.append(len(seen))

    reader = threading.Thread(target=read, name="reader")
    reader.start()
    try:
        for number in range(5 * _SEEN_LIMIT):
            seen.settle(f"{number:032x}")
    finally:
        done.set()
        reader.join()
    assert missed == []
    assert len(seen) <= _SEEN_LIMIT + 1
