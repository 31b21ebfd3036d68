"""What keeps the store in order: deletes that were cut short, the search index, old recordings and
snapshots.

Part of the composition root (`app.py`): it builds these rooms and says how each is stopped.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from efr.agent.agent import Agent
from efr.agent.commit import Commits
from efr.agent.receipts import Receipts
from efr.agent.scratch import MARKER
from efr.base.clock import Clock
from efr.base.ids import Ids
from efr.base.roots import Roots
from efr.config.schema import Settings
from efr.daemon.deleting import Deleter
from efr.daemon.periodic import Every
from efr.daemon.stopping import Started
from efr.daemon.work import ConversationWork, NoJobs, NoUndos
from efr.policy.secret_places import SECRETS_ELSEWHERE, SECRETS_IN_HOME
from efr.shell.shells import Shells
from efr.snapshots.room import Snapshots
from efr.store import db, delete_snapshots, receipts
from efr.store.db import Connection
from efr.store.delete_files import places_of
from efr.store.deletes import Deletes
from efr.store.feed import Feed
from efr.store.search.state import prepare
from efr.threads.collector import Collector
from efr.threads.indexer import Indexer
from efr.threads.readers import ReaderPool
from efr.threads.search_lanes import SearchLanes
from efr.threads.snapshot_collector import SnapshotCollector
from efr.threads.timer import Timer
from efr.threads.writer import StoreWriter

_log = logging.getLogger("efr.daemon")

DAY_S: Final = 86_400.0
RECORDINGS_S: Final = 3600.0
RECORDED_MORE: Final = 256 << 20  # bytes: how far over their limit recordings may be
SNAPSHOTS_S: Final = 3600.0
LONE_RECEIPTS_US: Final = 30 * 86_400 * 1_000_000  # answers without a conversation stay 30 days
CALL_DIRS_US: Final = 86_400 * 1_000_000  # an empty directory of a call that ended: a day


class Upkeep:
    """Built before the store is opened."""

    def __init__(
        self,
        roots: Roots,
        env: Mapping[str, str],
        clock: Clock,
        ids: Ids,
        home: str,
        settings: Callable[[], Settings],
    ) -> None:
        self._roots = roots
        self._settings = settings
        self._clock = clock
        self._ids = ids
        folder, path = roots.snapshots, env.get("PATH", os.defpath)
        left_alone = partial(left_out, roots, home, settings)
        self.snapshots = Snapshots(folder, path, clock, left_alone, MARKER, home)
        forgetting = delete_snapshots.Snapshots(folder, path, self.snapshots.gates.enter)
        self._deletes = Deletes(places_of(roots, MARKER), forgetting, clock)
        self._collector: Collector | None = None
        self._recorded = 0  # bytes since it was woken last

    def put_in_order(self, conn: Connection) -> None:
        """On the start's own connection, before the socket opens."""
        if prepare(conn):
            _log.info("the search index is built anew")
        self._deletes.finish_open(conn)
        with db.translated(db.path_of(conn), conn):
            db.transact(conn, lambda: receipts.drop_old(conn, self._lone_before()))

    def lanes(self, started: Started, writer: StoreWriter) -> SearchLanes:
        """The search lanes, started."""
        lanes = SearchLanes(self._roots.database, writer.way)
        started.add("the search lanes", lambda deadline: lanes.stop())
        lanes.start()
        return lanes

    def indexer(
        self,
        writer: StoreWriter,
        feed: Feed,
        turn_runs: Callable[[], bool],
        fatal: Callable[[str, BaseException], None],
    ) -> Indexer:
        """The search indexer, not started."""
        on_fatal = partial(fatal, "search-indexer")
        return Indexer(self._roots.database, writer, feed, self._clock, turn_runs, on_fatal)

    def deleter(
        self, readers: ReaderPool, writer: StoreWriter, feed: Feed, agent: Agent, shells: Shells
    ) -> Deleter:
        """What deletes conversations while efrd runs."""
        work = ConversationWork(
            agent, shells, readers, feed, self._clock, self._ids, NoJobs(), NoUndos()
        )
        stored = Receipts(readers, Commits(writer))
        return Deleter(readers, writer, stored, self._deletes, work)

    def start(
        self,
        started: Started,
        readers: ReaderPool,
        writer: StoreWriter,
        timer: Timer,
        indexer: Indexer,
    ) -> None:
        """The background work; last of a start."""
        tidier = SnapshotCollector(self.snapshots, lambda: self._settings().snapshot)
        started.add("the snapshot collector", lambda deadline: tidier.stop())
        tidier.start()
        collector = Collector(self._roots.recordings, readers, writer, self._clock)
        self._collector = collector
        started.add("the recording collector", lambda deadline: collector.stop())
        collector.start()
        every = partial(Every, timer=timer, clock=self._clock)
        for one in (
            every("looking through the recordings", RECORDINGS_S, collector.wake),
            every("looking through the snapshots", SNAPSHOTS_S, tidier.wake),
            every("dropping old receipts", DAY_S, partial(self._drop_receipts, writer)),
            every("removing empty call directories", DAY_S, self._remove_call_dirs),
        ):
            started.add("periodic work", one.stop)
            one.start()
        started.add("the search indexer", lambda deadline: indexer.stop())
        indexer.start()

    def recorded(self, size_bytes: int) -> None:
        """So many bytes more are recorded. On recording-flusher: a flood waits for no timer."""
        self._recorded += size_bytes
        if self._recorded >= RECORDED_MORE and self._collector is not None:
            self._recorded = 0
            self._collector.wake()

    def _lone_before(self) -> int:
        return self._clock.now_us() - LONE_RECEIPTS_US

    def _drop_receipts(self, writer: StoreWriter) -> object:
        before_us = self._lone_before()
        return writer.post(lambda conn: receipts.drop_old(conn, before_us))

    def _remove_call_dirs(self) -> None:
        remove_empty(self._roots.runtime.path / "sbx", self._clock.now_us() - CALL_DIRS_US)


def left_out(roots: Roots, home: str, settings: Callable[[], Settings]) -> list[str]:
    """What no snapshot holds: efr's own files and secrets, also where links of them lead."""
    own = [str(root.path) for root in (roots.data, roots.state, roots.runtime)]
    kept_in_home = [f"{os.path.realpath(home)}/{name}" for name in SECRETS_IN_HOME]
    told = [
        os.path.realpath(home) + path[1:] if path.startswith("~/") else path
        for path in settings().permissions.secret_paths
    ]
    named = [*own, *kept_in_home, *SECRETS_ELSEWHERE, *told]
    return [*named, *map(os.path.realpath, named)]


def remove_empty(parent: Path, before_us: int) -> None:
    """Removes empty directories two levels down (`<conversation>/<call>`), and then those one
    level down, that nothing changed since that time. Never follows a link, never takes a file."""
    for folder in [*parent.glob("*/*"), *parent.glob("*")]:
        with suppress(OSError):  # it is gone, or not empty, or no directory
            if folder.lstat().st_mtime_ns // 1000 < before_us:
                folder.rmdir()
