"""The thread `recording-flusher`: brings full segments of recordings to the disk.

A disk may take a long time for 8 MiB, and the thread that reads the PTYs must not wait for it. Here
waits who has time. The inbox holds 16 segments; when it is full, or after the stop, whoever wrote
the segment waits for the disk itself. An open segment that a crash finds here is only not marked as
closed yet: the next start looks at its file.

Stops with `stop()`, after the shells: what is queued is flushed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Thread
from typing import Final, TypeAlias

from efr.store.recordings import flush
from efr.threads.inbox import Inbox

log = logging.getLogger("efr.threads")

Segment: TypeAlias = tuple[int, Callable[[OSError | None], None]]

INBOX: Final = 16  # segments, 128 MiB: more than that a slow disk must slow down


class RecordingFlusher:
    """Any thread may ask."""

    def __init__(self, on_fatal: Callable[[BaseException], None]) -> None:
        self._on_fatal = on_fatal
        self._inbox: Inbox[Segment] = Inbox(INBOX)
        self._thread = Thread(target=self._live, name="recording-flusher")

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def flush(self, handle: int, done: Callable[[OSError | None], None]) -> None:
        """See `efr.store.recordings.Flush`. Blocks only when the inbox is full."""
        if not self._inbox.offer((handle, done)):
            flush(handle, done)

    def stop(self) -> None:
        """Flushes what is queued and joins. May be called twice."""
        self._inbox.close()
        if self._thread.is_alive():
            self._thread.join()

    def _live(self) -> None:
        """The thread's life."""
        try:
            while (segment := self._inbox.take()) is not None:
                flush(*segment)
        except Exception as exc:
            log.critical("recording-flusher ended: %s", exc, exc_info=exc)
            self._on_fatal(exc)
