"""The thread `config-watcher`: tells once when a settings file was saved.

It owns an inotify descriptor on the directories that the files' paths lead through, never on the
files: editors save by rename. After a change of one of those names it waits for 200 ms of quiet,
follows the paths anew (a link may lead elsewhere, a directory may be another one) and calls
`changed` on this thread. A watch that is lost is a change. While inotify cannot be had, it looks
at the files every 2 s, and asks for inotify again once a minute. Facts: docs/config.md; inotify(7).
"""

from __future__ import annotations

import errno
import logging
import os
import selectors
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Final

from efr.base.clock import Clock
from efr.base.inotify import Changed, Inotify
from efr.config.followed import Place, fingerprint, places

QUIET_S: Final = 0.2  # an editor's save is several steps; none takes so long to follow another
LOOK_S: Final = 2.0  # without inotify: late enough to cost nothing, early enough for a person
_ASK_AGAIN: Final = 30  # looks; what used up the watches or the descriptors may have ended
_TRIES: Final = 10  # paths that change while they are set up; then it looks instead
_GONE: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}  # a directory went while we came

log = logging.getLogger("efr.threads")


class ConfigWatch(Thread):
    """Watches some files for the life of the daemon."""

    def __init__(
        self,
        files: Sequence[Path],
        changed: Callable[[], object],
        clock: Clock,
        inotify: Callable[[], Inotify] = Inotify,
        quiet_s: float = QUIET_S,
        look_s: float = LOOK_S,
    ) -> None:
        super().__init__(name="config-watcher")
        self._files = tuple(files)
        self._changed = changed
        self._clock = clock
        self._inotify = inotify
        self._quiet_s = quiet_s
        self._look_s = look_s
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._stopping = False
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake, selectors.EVENT_READ)
        self._watching: Inotify | None = None
        self._names: dict[int, set[str]] = {}  # by watch
        self._asked = False  # whether inotify was asked for before
        self._follow()

    def stop(self, deadline: float) -> list[str]:
        """Ends the thread; returns its name when it misses the monotonic deadline (a file system
        that hangs). May be called twice."""
        self._stopping = True
        if self._wake >= 0:
            os.eventfd_write(self._wake, 1)
        if self.is_alive():
            self.join(max(0.0, deadline - self._clock.monotonic()))
            if self.is_alive():
                return [self.name]
        self._close()
        return []

    def run(self) -> None:
        if self._watching is not None:
            self._tell()  # what was saved between the start's read and the first watch
        while not self._stopping:
            if self._watching is not None:
                self._watch(self._watching)
            else:
                self._look()

    # With inotify.

    def _watch(self, watching: Inotify) -> None:
        """Waits for one save and tells."""
        due: float | None = None
        while not self._stopping:
            now = self._clock.monotonic()
            if due is not None and now >= due:
                self._follow()  # before the telling: what is saved from here on is seen
                self._tell()
                return
            self._selector.select(None if due is None else due - now)
            if any(self._concerns(change) for change in watching.read()):
                due = self._clock.monotonic() + self._quiet_s

    def _concerns(self, change: Changed) -> bool:
        return change.lost or change.name in self._names.get(change.watch, ())

    def _follow(self) -> None:
        """Watches what the paths lead through now; it is without inotify when it cannot."""
        had = self._watching is not None or not self._asked
        self._asked = True
        try:
            for _ in range(_TRIES):
                found = self._places()
                if self._set_up(found) and self._places() == found:
                    return
            raise OSError("its directories change all the time")
        except OSError as exc:
            self._unwatch()
            if had:
                log.warning(
                    "the settings files are looked at every %g s, they cannot be watched: %s",
                    self._look_s,
                    exc.strerror or exc,
                )

    def _set_up(self, found: frozenset[Place]) -> bool:
        """A fresh descriptor for these places. False: a directory went meanwhile."""
        fresh = self._inotify()
        names: dict[int, set[str]] = {}
        try:
            for place in found:
                names.setdefault(fresh.watch(place.directory), set()).add(place.name)
        except OSError as exc:
            fresh.close()
            if exc.errno in _GONE:
                return False
            raise
        self._unwatch()
        self._watching, self._names = fresh, names
        self._selector.register(fresh, selectors.EVENT_READ)
        return True

    def _unwatch(self) -> None:
        if self._watching is not None:
            self._selector.unregister(self._watching)
            self._watching.close()
            self._watching = None

    # Without.

    def _look(self) -> None:
        """Looks at the files again and again, until they can be watched or it is stopped."""
        seen = self._fingerprint()
        self._tell()  # what was saved before the first look
        looks = 0
        while not self._pause(self._look_s):
            now = self._fingerprint()
            changed = now != seen
            while now != seen and not self._pause(self._quiet_s):
                seen, now = now, self._fingerprint()
            looks += 1
            if looks % _ASK_AGAIN == 0:
                self._follow()  # before the telling, as ever
            watching = self._watching is not None
            if (changed or watching) and not self._stopping:
                self._tell()
            if watching:
                return

    def _pause(self, seconds: float) -> bool:
        """Waits; says whether the thread is stopped."""
        self._selector.select(seconds)
        return self._stopping

    def _fingerprint(self) -> dict[Place, object]:
        return fingerprint(self._places())

    # Both.

    def _places(self) -> frozenset[Place]:
        return frozenset(place for file in self._files for place in places(file))

    def _tell(self) -> None:
        try:
            self._changed()
        except Exception:
            log.exception("what follows a save of the settings broke")

    def _close(self) -> None:
        if self._wake >= 0:
            self._unwatch()
            self._selector.close()
            os.close(self._wake)
            self._wake = -1
