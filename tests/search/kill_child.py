"""A child of a test: brings the index up to date, and kills itself at a step.

argv: the database, the name of the step, and how often it is reached before the kill. Ends by
itself when the index is whole before.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from efr.base.clock import SystemClock
from efr.store.feed import Feed
from efr.threads.indexer import Indexer
from efr.threads.writer import StoreWriter


class KillAt:
    """Kills this process when a step was reached so often."""

    def __init__(self, step: str, count: int) -> None:
        self._step = step
        self._left = count

    def __call__(self, step: str) -> None:
        if step == self._step:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    path, clock, feed = Path(sys.argv[1]), SystemClock(), Feed()
    writer = StoreWriter(path, clock, feed, lambda exc: os._exit(1))
    writer.start()
    kill = KillAt(sys.argv[2], int(sys.argv[3]))
    indexer = Indexer(path, writer, feed, clock, lambda: False, lambda exc: os._exit(1), kill)
    indexer.start()
    indexer.wait_until_built(60)
    indexer.stop()
    writer.stop()


if __name__ == "__main__":
    main()
