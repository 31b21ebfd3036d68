"""The thread `main`: signals, the order of start and stop, and the exit code.

Start: roots, lock, settings, then `app.py` from the store to the socket, then READY=1. Stop: the
other way round under one deadline of 5 s. Signal handlers put a word into a queue; `main` waits
on it. A second signal while stopping, or the deadline, cuts the stop short: what is left is
named in the log and the exit code is not 0. Nothing here knows what the rooms do.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import NoReturn

from msgspec import Struct

from efr.base import log
from efr.base.clock import SystemClock
from efr.base.files import make_private_dir
from efr.base.ids import SystemIds
from efr.base.roots import RootError, Roots, find_roots
from efr.config import effective
from efr.config.errors import ConfigError
from efr.daemon import later
from efr.daemon.app import Daemon, StartFailed, rebuild_projections
from efr.daemon.errors import start_line
from efr.daemon.heaps import keep_few_heaps
from efr.daemon.identity import BadDaemonId, daemon_id
from efr.daemon.live_settings import LiveSettings, Overrides, overridden, read_settings
from efr.daemon.lock import DaemonLock, LockHeld, LockUnusable, acquire
from efr.daemon.notify import Notifier
from efr.daemon.outside import Outside
from efr.daemon.stacks import stacks
from efr.daemon.stopping import CutShort, Started, others_alive
from efr.daemon.subreaper import become_subreaper
from efr.daemon.words import Words
from efr.store.errors import StoreError

EXIT_STOPPED = 0
EXIT_FAILED = 1
EXIT_LOCKED = 3  # `RestartPreventExitStatus` of the unit: starting again cannot help

STOP_S = 5.0  # for all of a stop; systemd's own limit is 20 s

LAST_RESORT_S = 1.0  # after it, a stop that not even its deadline could end

_STOPS = (signal.SIGTERM, signal.SIGINT)
_TASKS = (signal.SIGHUP, signal.SIGUSR1)  # reload; where is every thread

_log = logging.getLogger("efr.daemon")


class Flags(Struct, frozen=True):
    """The command line."""

    log: str | None = None
    screen: str | None = None
    print_config: bool = False
    rebuild_projections: bool = False


class _Fatal(Struct, frozen=True):
    """A thread ended by an exception."""

    thread: str


def run(flags: Flags, env: Mapping[str, str]) -> int:
    """Runs the daemon until it is told to stop; returns the exit code."""
    threading.current_thread().name = "main"
    keep_few_heaps()
    os.umask(0o077)
    try:
        roots = find_roots(env, os.geteuid())
        roots.check_socket_path()
    except RootError as exc:
        return _fail(str(exc))
    overrides = Overrides(env, flags.log, flags.screen)
    if flags.print_config:
        return _print_config(roots, overrides)
    try:
        for root in (roots.data, roots.state, roots.runtime):
            make_private_dir(root.path)
        lock = acquire(roots.lock_file)
    except LockHeld as exc:
        return _fail(str(exc), EXIT_LOCKED)
    except (LockUnusable, OSError) as exc:
        return _fail(start_line(exc))
    try:
        settings = LiveSettings(
            roots.config_file, overrides, read_settings(roots.config_file, overrides)
        )
    except ConfigError as exc:
        lock.release()
        return _fail(f"{roots.config_file}: {exc}")
    _set_up_log(settings, env)
    if flags.rebuild_projections:
        return _rebuild(roots, lock)
    clock = SystemClock()
    outside = Outside(env=env, clock=clock, ids=SystemIds(clock))
    return _Main(roots, settings, outside, lock).run()


class _Main:
    """One run, from the lock to the exit code."""

    def __init__(
        self, roots: Roots, settings: LiveSettings, outside: Outside, lock: DaemonLock
    ) -> None:
        self._roots = roots
        self._settings = settings
        self._outside = outside
        self._lock = lock
        self._notifier = Notifier(outside.env.get("NOTIFY_SOCKET"))
        self._events: Words[int | _Fatal] = Words()
        self._stopping = False

    def run(self) -> int:
        """The whole run. The wake-up of the signals is given back at the end."""
        try:
            return self._run()
        finally:
            self._events.close()

    def _run(self) -> int:
        started = Started()
        started.add("the lock", lambda deadline: self._lock.release())
        self._install_handlers()
        try:
            self._start(started)
        except (StartFailed, BadDaemonId, StoreError, OSError) as exc:
            self._stop(started)
            return _fail(start_line(exc))
        except Exception as exc:  # noqa: BLE001 - a fault of ours: the traceback, then one line
            _log.critical("the start broke", exc_info=exc)
            self._stop(started)
            return _fail(f"the start broke: {exc}")
        code = self._serve()
        self._notifier.send("STOPPING=1")
        clean = self._stop(started)
        _log.info("stopped")
        return code if clean else EXIT_FAILED

    def _start(self, started: Started) -> None:
        become_subreaper()
        identity = daemon_id(self._roots.daemon_id_file, self._outside.ids)
        daemon = Daemon(self._outside, self._roots, self._settings, identity, self.fatal)
        daemon.start(started)
        self._notifier.send("READY=1")
        _log.info("efrd is ready at %s", self._roots.socket)

    def _serve(self) -> int:
        """Waits for a word; returns the exit code that it means."""
        quiet_s: float | None = later.SETTLED_S
        while True:
            event = self._events.get(quiet_s)
            if event is None:
                quiet_s = None
                later.load()
            elif isinstance(event, _Fatal):
                _log.critical("the thread %s ended by an exception; efrd stops", event.thread)
                return EXIT_FAILED
            elif event == signal.SIGHUP:
                self._reload()
            elif event == signal.SIGUSR1:
                _log.warning("SIGUSR1: the stacks of all threads\n%s", stacks())
            else:
                _log.info("%s: stopping", signal.Signals(event).name)
                return EXIT_STOPPED

    def _reload(self) -> None:
        try:
            self._settings.reload()
        except Exception:  # noqa: BLE001 - a fault of a listener costs this reload alone
            _log.exception("the reload broke")

    def _stop(self, started: Started) -> bool:
        """Everything in order, within STOP_S. Does not return when it is cut short."""
        try:
            self._stopping = True
            signal.setitimer(signal.ITIMER_REAL, STOP_S)
            # The alarm waits for a call into SQLite or the kernel; this one waits for nothing.
            faulthandler.dump_traceback_later(STOP_S + LAST_RESORT_S, exit=True)
            clean = started.stop(self._outside.clock.monotonic() + STOP_S)
            self._stopping = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
        except CutShort:
            self._leave()
        if others_alive():
            self._leave()
        return clean

    def _leave(self) -> NoReturn:
        """Ends the process with threads in it. What they were at is settled by the next start."""
        _log.error("efrd ends without waiting for: %s", ", ".join(others_alive()) or "nothing")
        _log.debug("the stacks of all threads\n%s", stacks())
        logging.shutdown()
        os._exit(EXIT_FAILED)

    def fatal(self, thread: str, exc: BaseException) -> None:
        """A thread ended by an exception: the daemon stops with it. Any thread."""
        _log.critical("the thread %s broke", thread, exc_info=exc)
        self._events.put(_Fatal(thread))

    def _install_handlers(self) -> None:
        for number in (*_STOPS, *_TASKS, signal.SIGALRM):
            signal.signal(number, self._on_signal)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        faulthandler.enable()  # a crash of the interpreter still says where
        threading.excepthook = self._on_thread_end

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._stopping and number not in _TASKS:
            raise CutShort  # the deadline, or somebody who does not want to wait for it
        if number != signal.SIGALRM:
            self._events.put(number)

    def _on_thread_end(self, args: threading.ExceptHookArgs) -> None:
        name = args.thread.name if args.thread is not None else "?"
        self.fatal(name, args.exc_value or RuntimeError(args.exc_type.__name__))


def _rebuild(roots: Roots, lock: DaemonLock) -> int:
    try:
        count = rebuild_projections(roots)
    except StoreError as exc:
        return _fail(start_line(exc))
    finally:
        lock.release()
    sys.stdout.write(f"built the projections anew from {count} events\n")
    return EXIT_STOPPED


def _print_config(roots: Roots, overrides: Overrides) -> int:
    path = roots.config_file
    try:
        settings = read_settings(path, overrides)
        text = path.read_bytes() if path.exists() else b""
    except (ConfigError, OSError) as exc:
        return _fail(f"{path}: {exc}")
    sys.stdout.write(effective.render(settings, text, overridden(overrides)))
    return EXIT_STOPPED


def _set_up_log(settings: LiveSettings, env: Mapping[str, str]) -> None:
    journal = _is_journal(env.get("JOURNAL_STREAM", ""))
    log.set_up(settings.current().log, journal=journal)
    settings.on_change(lambda fresh: log.set_up(fresh.log, journal=journal))


def _is_journal(stream: str) -> bool:
    """Whether stderr is the journal (systemd.exec(5), JOURNAL_STREAM: device and inode)."""
    try:
        facts = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return stream == f"{facts.st_dev}:{facts.st_ino}"


def _fail(message: str, code: int = EXIT_FAILED) -> int:
    """One clear line."""
    sys.stderr.write(f"efrd: {message}\n")
    return code
