"""The composition root: builds every room, wires them together, and says how each is stopped.

Runs on `main`. The order is that of docs/architecture.md, "Starting and stopping": what is added
to `Started` first is stopped last. A failure leaves what was started to its caller, who stops it.
"""

from __future__ import annotations

import logging
import os
import platform
import pwd
import random
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct

from efr.agent.agent import Agent
from efr.agent.notices import write_notice
from efr.agent.ports import Ports
from efr.agent.preamble import Host
from efr.base.files import make_private_dir, write_atomic
from efr.base.roots import Roots
from efr.base.version import VERSION
from efr.daemon import leftovers, log_reads
from efr.daemon.diffs import Diffs
from efr.daemon.dispatch import Dispatcher, Greeting
from efr.daemon.live_settings import LiveSettings
from efr.daemon.methods.table import methods_of
from efr.daemon.outside import Fatal, Outside
from efr.daemon.peers import ModelSide
from efr.daemon.periodic import Every
from efr.daemon.processes import first_shell, shell_start
from efr.daemon.projects import KnownProjects, known_projects
from efr.daemon.recent import Machine
from efr.daemon.reload_notices import ReloadNotices
from efr.daemon.rooms import Facts, HiddenShells, Rooms
from efr.daemon.searching import Searches
from efr.daemon.setting_warnings import setting_warnings
from efr.daemon.shell_room import ShellRoom, WhoLooks
from efr.daemon.socket_check import SocketCheck
from efr.daemon.stopping import Started
from efr.daemon.subreaper import OrphanReaper
from efr.daemon.subscriptions import Subscriptions
from efr.daemon.upkeep import Upkeep
from efr.daemon.waits import Waits
from efr.daemon.watches import Watches
from efr.providers.credentials import CredentialStore
from efr.providers.http import HttpClient
from efr.providers.proxies import Proxies
from efr.providers.registry import Providers
from efr.providers.retry import Sender, pause
from efr.providers.transcript import Transcript
from efr.store import db, queries
from efr.store.batch import Batch, NewEvent
from efr.store.errors import StoreBusy
from efr.store.feed import Feed
from efr.store.migrate import migrate
from efr.store.rebuild import rebuild
from efr.store.reconcile import NotRun, reconcile
from efr.store.recording_index import close_open_segments
from efr.text.redact import redact_title
from efr.text.title import title_of
from efr.threads import listener
from efr.threads.catalog import CatalogFetcher
from efr.threads.config_watch import ConfigWatch
from efr.threads.conversations import ConversationWorkers
from efr.threads.errands import Errands
from efr.threads.handlers import Handlers
from efr.threads.list_watch import ListWatch
from efr.threads.looks import Looks
from efr.threads.lookups import Lookups
from efr.threads.readers import ReaderPool
from efr.threads.requests import Peer
from efr.threads.server import SocketServer
from efr.threads.timer import Timer
from efr.threads.writer import StoreWriter
from efr.tools.registry import ToolRegistry
from efr.tools.settings import SettingsTool
from efr.tools.write_journal import WriteJournal
from efr.wire import codec
from efr.wire import events as ev
from efr.wire import types as t

_log = logging.getLogger("efr.daemon")


SOCKET_S = 60.0  # how late a socket that is gone may be told: only a person can help
ORPHANS_S = 60.0  # how long the exit of an orphan may wait: a dead process holds only its pid
RECORD_VARIABLE = "EFR_RECORD_TRANSCRIPT"  # names the file of model traffic, for a bug report
AFTER_CLIENTS_S = 1.0  # of the stop's deadline, for what comes after the last client


class StartFailed(Exception):
    """The daemon cannot start; the message is the line that the user sees."""


class _Store(Struct, frozen=True):
    """The running store."""

    feed: Feed
    readers: ReaderPool
    writer: StoreWriter


class Daemon:
    """One running daemon, from the database to the socket."""

    def __init__(
        self, outside: Outside, roots: Roots, settings: LiveSettings, daemon_id: str, fatal: Fatal
    ) -> None:
        self._outside = outside
        self._clock = outside.clock
        self._roots = roots
        self._settings = settings
        self._daemon_id = daemon_id
        self._fatal = fatal
        self._started_at_us = outside.clock.now_us()
        self._looks = Looks(outside.clock)
        self._lookups = Lookups(outside.clock)
        self._journal = WriteJournal(roots.write_journal)
        self._upkeep = Upkeep(
            roots,
            outside.env,
            outside.clock,
            outside.ids,
            _host(outside.env).home,
            settings.current,
        )

    def start(self, started: Started) -> None:
        """Starts everything; clients can connect when it returns. Raises what kept it from that."""
        with _free_socket():  # else what another efrd on the same runtime root runs would be "left"
            listener.check_free(self._roots.socket)
        leftovers.remove(self._roots, self._started_at_us)
        # Stopped last: what hangs there may use up the deadline, and holds nothing of ours.
        started.add("the looks at file systems", self._looks.stop)
        started.add("the name lookups", self._lookups.stop)
        for one in self._open_database():
            _tell_not_run(self._roots.notices, one)  # at once: no later start knows of them
        store = self._start_store(started)
        timer = Timer(self._clock)
        started.add("the timer", lambda deadline: timer.stop())
        timer.start()
        providers = self._providers(started)
        fetcher = CatalogFetcher(providers)
        looks = WhoLooks()
        room = ShellRoom(
            self._outside,
            self._roots,
            self._settings.current,
            self._fatal,
            self._upkeep.recorded,
        )
        hidden = room.start(started, store.writer, store.readers, timer, looks)
        rooms = self._start_agent(started, store, timer, providers, fetcher, hidden)
        looks.agent, looks.shells = rooms.agent, hidden.shells
        told = ReloadNotices(
            lambda: store.readers.read(queries.slots),
            rooms.agent.notices.write,
            self._settings.current,
            self._clock,
        )
        self._settings.on_reload(told.reloaded)
        rooms.projects.registry.on_fault(told.registry_broken)
        self._settings.hold_while(rooms.agent.runs_full)
        self._serve(started, rooms, timer)
        started.add("the model lists", fetcher.stop)
        fetcher.start()
        self._start_background(started, store, timer, rooms)
        self._start_config_watch(started, providers)

    def _open_database(self) -> list[NotRun]:
        """Migrates and reconciles, before anything else uses the database. Files that a call was
        writing are put in order before the end of that call is recorded."""
        with closing(db.open(self._roots.database)) as conn:
            migrate(conn)
            close_open_segments(conn, self._roots.recordings, self._started_at_us)
            home = _host(self._outside.env).home
            lost = leftovers.put_back(self._journal, home, self._looks.look)
            not_run = reconcile(conn, self._clock, lost=lost)
            self._journal.clear()
            self._upkeep.put_in_order(conn)
            return not_run

    def _start_store(self, started: Started) -> _Store:
        """The writer opens first: its look at the file would take the readers' locks away (see
        `db.open_to_write`). It stops first too."""
        path, feed = self._roots.database, Feed()
        readers = ReaderPool(path)
        writer = StoreWriter(path, self._clock, feed, partial(self._fatal, "store-writer"))
        started.add("the database", lambda deadline: _checkpoint(path))
        started.add("the readers", lambda deadline: readers.stop())
        started.add("the writer", lambda deadline: writer.stop())
        writer.start()
        readers.start()
        return _Store(feed, readers, writer)

    def _providers(self, started: Started) -> Providers:
        clock = self._clock
        http = HttpClient(clock, proxies=Proxies(self._outside.env), resolve=self._lookups.find)
        started.add("the idle connections", lambda deadline: http.close())
        recorded = self._outside.env.get(RECORD_VARIABLE)
        transcript = Transcript(Path(recorded)) if recorded else None
        sender = Sender(http, clock, random.Random(), pause, transcript)
        credentials = CredentialStore(self._roots.secrets, clock)
        return Providers(
            self._settings.current,
            credentials,
            sender,
            self._roots.state.path,
            self._outside.issuer,
        )

    def _tools(self, providers: Providers) -> ToolRegistry:
        more = (_settings_tool(self._settings, providers),)
        return ToolRegistry(more=more, journal=self._journal)

    def _projects(self, home: str) -> KnownProjects:
        env, ids = self._outside.env, self._outside.ids
        projects = known_projects(self._roots, home, env, ids, self._looks.look)
        self._settings.on_reload(lambda _: projects.scopes.refresh())
        return projects

    def _start_agent(
        self,
        started: Started,
        store: _Store,
        timer: Timer,
        providers: Providers,
        fetcher: CatalogFetcher,
        hidden: HiddenShells,
    ) -> Rooms:
        host = _host(self._outside.env)
        workers = ConversationWorkers(self._clock, self._fatal)
        projects = self._projects(host.home)
        agent = Agent(
            Ports(
                clock=self._clock,
                ids=self._outside.ids,
                roots=self._roots,
                host=host,
                settings=self._settings.current,
                writer=store.writer,
                readers=store.readers,
                workers=workers,
                timer=timer,
                models=providers,
                tools=self._tools(providers),
                shells=hidden.shells,
                shell_start=shell_start,
                places=projects.places,
                first_shell=first_shell,
                snapshots=self._upkeep.snapshots,
            )
        )
        subscriptions = _start_subscriptions(started, store, agent)
        watches = self._start_watches(started, store, projects, agent)
        errands = Errands(self._clock)
        started.add("the errands", errands.stop)
        upkeep, writer, feed = self._upkeep, store.writer, store.feed
        indexer = upkeep.indexer(writer, feed, lambda: workers.count > 0, self._fatal)
        return Rooms(
            facts=Facts(self._daemon_id, VERSION, os.getpid(), self._started_at_us, host.home),
            roots=self._roots,
            settings=self._settings,
            readers=store.readers,
            agent=agent,
            providers=providers,
            projects=projects,
            subscriptions=subscriptions,
            watches=watches,
            model_side=ModelSide(os.getpid(), hidden.shells.sessions),
            waits=Waits(errands, fetcher, lambda: providers.active().provider.id),
            searches=Searches(upkeep.lanes(started, writer), lambda: indexer.building, self._clock),
            indexer=indexer,
            deleter=upkeep.deleter(store.readers, writer, feed, agent, hidden.shells),
            record=partial(_record, writer),
            working=lambda: workers.count,
            diffs=Diffs(
                store.readers, self._upkeep.snapshots, projects, host.home, self._roots.scratch
            ),
            hidden=hidden,
        )

    def _start_watches(
        self, started: Started, store: _Store, projects: KnownProjects, agent: Agent
    ) -> Watches:
        watches = Watches(
            store.readers.read, lambda: Machine(projects.places.projects.all(), agent.is_held)
        )
        thread = ListWatch(watches.look)
        started.add("the watches", thread.stop)
        leave = store.feed.listen(partial(watches.published, thread.touch))
        started.add("what the watches hear", lambda deadline: leave())
        thread.start()
        return watches

    def _serve(self, started: Started, rooms: Rooms, timer: Timer) -> None:
        """Opens the socket. Its clients are let go first and joined after the turns."""
        dispatcher = Dispatcher(
            methods_of(rooms), self._greeting(), rooms.model_side, _closed(rooms.agent)
        )
        handlers = Handlers(dispatcher, self._clock)
        with _free_socket():
            bound = listener.bind(self._roots.socket)
        server = SocketServer(bound, dispatcher, handlers, self._clock)
        started.add("the clients", lambda deadline: [] if server.stop(deadline) else [server.name])
        started.add("the handlers", handlers.stop)
        started.add("the turns", rooms.agent.stop)
        started.add("new requests", lambda deadline: server.begin_stop(deadline - AFTER_CLIENTS_S))
        hint = self._roots.daemon_json
        write_atomic(hint, codec.encode(self._hint()))
        started.add("daemon.json", lambda deadline: hint.unlink(missing_ok=True))
        rooms.projects.scopes.refresh()
        look = Every(
            "looking for the socket", SOCKET_S, SocketCheck(bound).look, timer, self._clock
        )
        started.add("the looks for the socket", look.stop)
        look.start()
        handlers.start()
        server.start()

    def _start_background(
        self, started: Started, store: _Store, timer: Timer, rooms: Rooms
    ) -> None:
        sweep = OrphanReaper().sweep
        orphans = Every("taking the exits of orphans", ORPHANS_S, sweep, timer, self._clock)
        started.add("periodic work", orphans.stop)
        orphans.start()
        self._upkeep.start(started, store.readers, store.writer, timer, rooms.indexer)

    def _start_config_watch(self, started: Started, providers: Providers) -> None:
        """Last of all: from here on a save of the settings is a reload."""
        self._settings.warn_with(partial(setting_warnings, providers))
        try:
            make_private_dir(self._roots.config.path)
        except OSError as exc:
            _log.warning("there is no %s to watch: %s", self._roots.config.path, exc.strerror)
        files = (self._roots.config_file, self._roots.projects_file)
        watch = ConfigWatch(files, self._settings.reload, self._clock)
        started.add("the watch of the settings", watch.stop)
        watch.start()

    def _greeting(self) -> Greeting:
        return Greeting(
            daemon_id=self._daemon_id,
            version=VERSION,
            capabilities=t.Capabilities(
                admin=True,
                drafts_coalesced=True,
                snapshot_live=True,
                approval_local_only=True,
                conversations_watch=True,
                search=True,
                screen_snapshots=True,
            ),
            paths=t.DaemonPaths(
                scratch_root=str(self._roots.scratch), data_dir=str(self._roots.data.path)
            ),
            challenge=lambda: secrets.token_urlsafe(32),
        )

    def _hint(self) -> dict[str, object]:
        return {
            "pid": os.getpid(),
            "socket": str(self._roots.socket),
            "protocol": t.PROTOCOL_VERSION,
            "daemon_id": self._daemon_id,
        }


def rebuild_projections(roots: Roots) -> int:
    """Builds the projections anew while no daemon runs; returns the number of events read."""
    with closing(db.open(roots.database)) as conn:
        migrate(conn)
        return rebuild(conn)


@contextmanager
def _free_socket() -> Iterator[None]:
    try:
        yield
    except listener.SocketTaken as exc:
        raise StartFailed(str(exc)) from exc


def _record(writer: StoreWriter, event: ev.Event) -> None:
    """Commits an event that belongs to no conversation. Raises StoreError."""
    writer.append(Batch(events=(NewEvent(None, event),))).result()


def _closed(agent: Agent) -> Callable[[Peer], None]:
    return lambda peer: agent.followers.connection_closed(peer.connection_id)


def _start_subscriptions(started: Started, store: _Store, agent: Agent) -> Subscriptions:
    subscriptions = Subscriptions(
        store.feed,
        agent.drafts,
        agent.followers,
        lambda params: store.readers.read(partial(log_reads.read_start, params)),
    )
    leave = subscriptions.listen()
    started.add("the subscriptions", lambda deadline: leave())
    return subscriptions


def _settings_tool(live: LiveSettings, providers: Providers) -> SettingsTool:
    return SettingsTool(live, lambda: providers.models().models)


def _checkpoint(path: Path) -> None:
    """Empties the write-ahead log; a stranger who reads the database just leaves it longer."""
    try:
        db.checkpoint(path)
    except StoreBusy as exc:
        _log.warning("the write-ahead log stays: %s", exc)


def _host(env: Mapping[str, str]) -> Host:
    home = env.get("HOME") or pwd.getpwuid(os.geteuid()).pw_dir
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    return Host(home=home, name=platform.node(), os_name=system)


def _tell_not_run(notices: Path, one: NotRun) -> None:
    """A prompt that waited when efrd stopped: its terminal is told to send it again."""
    if one.tty is not None:
        name = redact_title(title_of(one.prompt))
        text = f"efr restarted before this prompt ran, send it again: {name}"
        write_notice(notices, one.tty, text)
