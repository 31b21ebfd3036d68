"""The composed daemon inside the test's own process, on throwaway roots, with its own clock."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from efr.base.clock import SystemClock
from efr.base.files import make_private_dir
from efr.base.ids import SystemIds
from efr.base.roots import Roots, find_roots
from efr.daemon.app import Daemon
from efr.daemon.identity import daemon_id
from efr.daemon.live_settings import LiveSettings, Overrides, read_settings
from efr.daemon.outside import Outside
from efr.daemon.stopping import Started
from efr.providers.oauth import Issuer
from efr.threads.timer import Timer
from tests.harness.daemon import DEMO

STOP_S = 20.0


class MovedClock(SystemClock):
    """The machine's clock, moved by hand."""

    def __init__(self) -> None:
        self.wall_s = 0.0
        self.monotonic_s = 0.0

    def now_us(self) -> int:
        return super().now_us() + round(self.wall_s * 1_000_000)

    def monotonic(self) -> float:
        return super().monotonic() + self.monotonic_s


@dataclass
class House:
    """Roots, and what broke."""

    roots: Roots
    env: dict[str, str]
    clock: MovedClock = field(default_factory=MovedClock)
    broken: list[str] = field(default_factory=list)
    issuer: Issuer = field(default_factory=Issuer)

    def start(self, started: Started) -> None:
        overrides = Overrides(self.env)
        settings = LiveSettings(
            self.roots.config_file, overrides, read_settings(self.roots.config_file, overrides)
        )
        ids = SystemIds(self.clock)
        identity = daemon_id(self.roots.daemon_id_file, ids)
        outside = Outside(self.env, self.clock, ids, self.issuer)
        daemon = Daemon(
            outside, self.roots, settings, identity, lambda name, exc: self.broken.append(name)
        )
        daemon.start(started)

    def stop(self, started: Started) -> bool:
        """Whether all of it ended well."""
        return started.stop(self.clock.monotonic() + STOP_S)

    def suspend(self, seconds: float) -> None:
        """The machine slept, on a kernel whose monotonic clock goes on meanwhile."""
        self.clock.wall_s += seconds
        self.clock.monotonic_s += seconds
        for thread in threading.enumerate():
            if isinstance(thread, Timer):
                thread.at(0.0, lambda: None)  # its wait ends as a real one would

    @contextmanager
    def running(self) -> Iterator[None]:
        """Started for the time of a `with`."""
        started = Started()
        try:
            self.start(started)
            yield
        finally:
            assert self.stop(started)


@contextmanager
def house(folder: Path) -> Iterator[House]:
    """A house whose runtime root is short; nothing of it broke in the end."""
    with tempfile.TemporaryDirectory(prefix="efr-") as runtime:
        env = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "EFR_HOME": str(folder / "efr"),
            "EFR_RUNTIME_DIR": runtime,
        }
        roots = find_roots(env, os.geteuid())
        for root in (roots.config, roots.data, roots.state):
            make_private_dir(root.path)
        roots.config_file.write_text(DEMO)
        made = House(roots, env)
        yield made
        assert made.broken == []
