"""When the write-ahead log is moved into the database: after commits, as it grows.

SQLite's own way looks at the log's whole length. While a reader stands in the log it cannot begin
anew, so once it is long every commit would move its few pages and wait for the disk twice. Here a
commit moves the log when it has grown by so many frames since the last time.

The log begins anew when all of it was moved and no reader stands in it. Readers that take turns
can prevent that for as long as they read; a log that is over its limit waits a moment for them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import apsw

log = logging.getLogger("efr.store")

USUAL_FRAMES: Final = 1000  # SQLite's own number
EAGER_FRAMES: Final = 500  # for a search job, so that the commit of a turn seldom has to
LIMIT_FRAMES: Final = 16_384  # 64 MiB of usual pages, which is what the file is cut back to

# A read takes milliseconds. Who reads longer is not waited for; the writer has batches to write.
PATIENCE_MS: Final = 100


class WriteConnection(apsw.Connection):
    """A connection that moves the log. `every` is how many frames make it do so, `long_frames` from
    where it waits for readers. It does so `in_commit`, or when its owner calls `move_if_due`."""

    def __init__(self, name: str, flags: int) -> None:
        super().__init__(name, flags=flags)
        self.every = USUAL_FRAMES
        self.long_frames = LIMIT_FRAMES
        self.in_commit = True
        self._frames = 0  # in the log
        self._moved_at = 0  # how many those were when it was moved last
        self.set_wal_hook(self._committed)

    def _committed(self, _conn: apsw.Connection, _name: str, frames: int) -> int:
        self._frames = frames
        if frames < self._moved_at:  # it began anew
            self._moved_at = 0
        if self.in_commit:
            self.move_if_due()
        return apsw.SQLITE_OK

    def move_if_due(self) -> None:
        """Moves a log that has grown enough. What cannot be moved now is moved later: the commit
        itself is done."""
        if self._frames - self._moved_at < self.every:
            return
        frames = self._moved_at = self._frames
        try:
            if frames < self.long_frames:
                self.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            else:
                self._move_all()
        except apsw.Error as exc:
            log.warning("the write-ahead log of %d frames was not moved: %s", frames, exc)

    def _move_all(self) -> None:
        timeout_ms = int(self.pragma("busy_timeout"))
        self.set_busy_timeout(PATIENCE_MS)
        try:
            self.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
        finally:
            self.set_busy_timeout(timeout_ms)


@contextmanager
def eager_checkpoints(conn: apsw.Connection) -> Iterator[None]:
    """Around a search job: its commit moves the log at half the usual length."""
    assert isinstance(conn, WriteConnection)
    usual = conn.every, conn.in_commit
    conn.every, conn.in_commit = EAGER_FRAMES, True
    try:
        yield
    finally:
        conn.every, conn.in_commit = usual
