"""A child of a test: one pass over the recordings, killed at a step. argv: database, step."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from efr.base.clock import SystemClock
from efr.store.feed import Feed
from efr.threads.collector import Collector
from efr.threads.readers import ReaderPool
from efr.threads.writer import StoreWriter
from tests.search.kill_child import KillAt


def main() -> None:
    path, clock = Path(sys.argv[1]), SystemClock()
    readers = ReaderPool(path)
    writer = StoreWriter(path, clock, Feed(), lambda exc: os._exit(1))
    readers.start()
    writer.start()
    directory = path.parent / "recordings"
    kill = KillAt(sys.argv[2], 1)
    Collector(directory, readers, writer, clock, 0, 0, kill).collect()


if __name__ == "__main__":
    main()
