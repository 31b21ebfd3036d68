"""Who waits for the writer, and until when."""

from __future__ import annotations

import threading
from pathlib import Path

from efr.base.clock import SystemClock
from efr.store.feed import Feed
from efr.threads.right_of_way import RightOfWay
from efr.threads.writer import StoreWriter
from tests.store.samples import created, new_database

LIMIT_S = 20.0


def test_nobody_waits_when_nothing_is_claimed() -> None:
    assert RightOfWay(SystemClock()).give(LIMIT_S) == 0.0


def test_whoever_waits_goes_on_with_the_release() -> None:
    way = RightOfWay(SystemClock())
    way.claim()
    waited: list[float] = []
    thread = threading.Thread(target=lambda: waited.append(way.give(LIMIT_S)))
    thread.start()
    assert way.give(0.001) > 0.0, "or when the patience is over"
    way.release()
    thread.join(LIMIT_S)
    assert len(waited) == 1
    assert way.give(LIMIT_S) == 0.0


def test_the_writer_releases_it_when_it_has_nothing_to_do(tmp_path: Path) -> None:
    writer = StoreWriter(new_database(tmp_path), SystemClock(), Feed(), lambda exc: None)
    writer.start()
    entered, go = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        entered.set()
        assert go.wait(LIMIT_S)

    held, queued = writer.run(hold), writer.append(created())
    assert entered.wait(LIMIT_S)
    assert writer.way.give(0.001) > 0.0
    go.set()
    writer.way.give(LIMIT_S)
    assert held.done()
    assert queued.done()
    writer.stop()
    assert writer.way.give(LIMIT_S) == 0.0
