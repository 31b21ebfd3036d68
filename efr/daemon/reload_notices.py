"""Tells terminals what a reload of the settings came to, and of a broken registry of projects.

Each new error and each new set of keys that wait for a restart is one line at every terminal that
was active lately; the same news twice says nothing. Runs on the thread that asked for the reload.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from efr.base.clock import Clock
from efr.config.schema import Settings
from efr.store.errors import StoreError
from efr.store.queries import ConversationRow
from efr.wire import types as t

_log = logging.getLogger("efr.daemon")

_HOUR_US = 3_600_000_000


class ReloadNotices:
    """Remembers what was told. One reload at a time comes in."""

    def __init__(
        self,
        slots: Callable[[], Sequence[ConversationRow]],
        write: Callable[[str, str], None],
        settings: Callable[[], Settings],
        clock: Clock,
    ) -> None:
        self._slots = slots  # every conversation that a terminal holds; blocks
        self._write = write  # a terminal and a line
        self._settings = settings
        self._clock = clock
        self._error: t.ConfigFileError | None = None
        self._restart: tuple[str, ...] = ()

    def reloaded(self, result: t.ReloadResult) -> None:
        """A reload ended. Blocks on a reader when there is news."""
        self._tell(list(self._news(result)))

    def registry_broken(self, fault: str) -> None:
        """The registry of projects has a new fault. Blocks on a reader."""
        self._tell([f"projects.toml has an error, no project counts: {fault}"])

    def _tell(self, lines: Sequence[str]) -> None:
        for tty in self._terminals() if lines else ():
            for line in lines:
                self._write(tty, line)

    def _news(self, result: t.ReloadResult) -> Iterator[str]:
        error, keys = result.error, result.restart_needed
        if error is not None and error != self._error and result.applied:
            yield f"a change of config.toml is {error.message}"
        elif error is not None and error != self._error:
            place = f" (line {error.line})" if error.line is not None else ""
            key = f"{error.key}: " if error.key else ""
            yield f"config.toml has an error{place}, efr keeps its settings: {key}{error.message}"
        if error is None and keys and keys != self._restart:
            yield f"efrd must restart before these settings apply: {', '.join(keys)}"
        self._error = error
        if error is None:
            self._restart = keys

    def _terminals(self) -> list[str]:
        hours = self._settings().conversation.tty_idle_hours
        since = self._clock.now_us() - hours * _HOUR_US if hours else 0
        try:
            slots = self._slots()
        except StoreError as exc:
            _log.warning("no terminal hears of the reload: %s", exc)
            return []
        return sorted({row.tty for row in slots if row.tty and row.updated_at >= since})
