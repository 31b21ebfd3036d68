"""The repository hint: once a day for each git work tree that is no registered project.

A small private file of the state root counts the days, because no table has room for it; a file
that cannot be read or written costs a hint too much, never a prompt. Blocks on the file system.
"""

from __future__ import annotations

import logging
import threading
from datetime import datetime
from pathlib import Path

from efr.base.clock import Clock
from efr.base.files import make_private_dir, write_atomic
from efr.wire import codec
from efr.wire.errors import WireError

log = logging.getLogger("efr.agent")

_KEPT = 256  # repositories remembered; the ones with the oldest day go first


class RepoHints:
    """Which repository was told about today. Any handler thread."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()  # "repo-hints": the days in memory
        self._days: dict[str, str] | None = None

    def is_due(self, root: str) -> bool:
        """Whether the repository was not told about today."""
        loaded = self._load() if self._days is None else {}
        with self._lock:
            if self._days is None:
                self._days = loaded
            return self._days.get(root) != self._today()

    def shown(self, root: str) -> None:
        """It was told about now."""
        loaded = self._load() if self._days is None else {}
        with self._lock:
            days = loaded if self._days is None else self._days
            days = days | {root: self._today()}
            newest = sorted(days.items(), key=lambda item: item[1])[-_KEPT:]
            self._days = dict(newest)
            body = codec.encode(self._days)
        self._save(body)

    def _today(self) -> str:
        """The day of the user's clock."""
        return datetime.fromtimestamp(self._clock.now_us() / 1_000_000).strftime("%Y-%m-%d")

    def _load(self) -> dict[str, str]:
        try:
            return codec.decode(self._path.read_bytes(), dict[str, str])
        except FileNotFoundError:
            return {}
        except (OSError, WireError) as exc:
            log.warning("the days of the repository hints cannot be read: %s", exc)
            return {}

    def _save(self, body: bytes) -> None:
        try:
            make_private_dir(self._path.parent)
            write_atomic(self._path, body)
        except OSError as exc:
            log.warning("the days of the repository hints cannot be written: %s", exc)
