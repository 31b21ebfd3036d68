"""The composed daemon inside this process: what a start makes, a stop lets go of."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from efr.base.clock import SystemClock
from efr.base.files import make_private_dir
from efr.base.ids import SystemIds
from efr.base.roots import Roots, find_roots
from efr.daemon.app import Daemon, Outside, StartFailed
from efr.daemon.identity import daemon_id
from efr.daemon.live_settings import LiveSettings, Overrides, read_settings
from efr.daemon.stopping import Started
from tests.harness.daemon import DEMO
from tests.harness.raw_client import connected

STOP_S = 20.0


@dataclass
class House:
    """Roots, and what broke."""

    roots: Roots
    env: dict[str, str]
    broken: list[str] = field(default_factory=list)

    def start(self, started: Started) -> None:
        clock = SystemClock()
        overrides = Overrides(self.env)
        settings = LiveSettings(
            self.roots.config_file, overrides, read_settings(self.roots.config_file, overrides)
        )
        ids = SystemIds(clock)
        identity = daemon_id(self.roots.daemon_id_file, ids)
        outside = Outside(self.env, clock, ids)
        daemon = Daemon(
            outside, self.roots, settings, identity, lambda name, exc: self.broken.append(name)
        )
        daemon.start(started)


def stop(started: Started) -> bool:
    return started.stop(SystemClock().monotonic() + STOP_S)


@pytest.fixture(name="house")
def _house(tmp_path: Path) -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="efr-") as runtime:
        env = {
            "HOME": str(tmp_path),
            "PATH": os.environ["PATH"],
            "EFR_HOME": str(tmp_path / "efr"),
            "EFR_RUNTIME_DIR": runtime,
        }
        roots = find_roots(env, os.geteuid())
        for root in (roots.config, roots.data, roots.state):
            make_private_dir(root.path)
        roots.config_file.write_text(DEMO)
        house = House(roots, env)
        yield house
        assert house.broken == []


def left() -> tuple[int, int]:
    """Threads and descriptors of this process."""
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


def test_50_starts_and_stops_leave_no_thread_and_no_descriptor(house: House) -> None:
    def once() -> None:
        started = Started()
        house.start(started)
        with connected(house.roots.socket) as client:
            assert client.call("admin.status")["pid"] == os.getpid()
        assert stop(started)
        assert os.listdir(house.roots.runtime.path) == []

    once()  # what is loaded or cached once stays
    before = left()
    for _ in range(50):
        once()
    assert left() == before


def test_every_thread_has_a_name_of_its_own(house: House) -> None:
    before = set(threading.enumerate())
    started = Started()
    house.start(started)
    names = {thread.name for thread in set(threading.enumerate()) - before}
    assert stop(started)
    assert names == {
        "store-writer",
        *(f"store-reader-{n}" for n in range(1, 5)),
        "socket-server",
        *(f"handler-{n}" for n in range(1, 9)),
        "pty-reader",
        "timer",
        "catalog-fetch",
    }


def test_a_start_that_fails_at_the_socket_lets_go_of_everything(house: House) -> None:
    before = left()
    house.roots.socket.write_text("mine")
    started = Started()
    with pytest.raises(StartFailed, match="is not a socket"):
        house.start(started)
    assert stop(started)
    assert left() == before
    assert os.listdir(house.roots.runtime.path) == ["daemon.sock"]
