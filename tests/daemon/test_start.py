"""Lock, identity, service manager, stop order: the pieces of a start and a stop."""

from __future__ import annotations

import configparser
import os
import socket
import subprocess
import sys
import tempfile
import threading
from importlib.resources import files
from pathlib import Path

import pytest

from efr.daemon import lock
from efr.daemon.identity import BadDaemonId, daemon_id
from efr.daemon.main import EXIT_LOCKED, LAST_RESORT_S, STOP_S
from efr.daemon.notify import Notifier
from efr.daemon.stopping import CutShort, Started, others_alive
from tests.harness.clock import CountingIds
from tests.harness.raw_client import LIMIT_S


def test_the_lock_is_held_once_and_its_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    held = lock.acquire(path)
    with pytest.raises(lock.LockHeld, match="another efrd runs"):
        lock.acquire(path)
    held.release()
    held.release()
    assert path.stat().st_mode & 0o777 == 0o600
    lock.acquire(path).release()


def test_a_child_does_not_inherit_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    held = lock.acquire(path)
    # Asked for a line it runs: right after the start it may still close what it got.
    with subprocess.Popen(
        [sys.executable, "-c", "input('runs\\n')"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        close_fds=False,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"runs\n"
        held.release()
        lock.acquire(path).release()
        child.communicate(b"\n", timeout=LIMIT_S)


def test_the_id_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "daemon_id"
    made = daemon_id(path, CountingIds())
    assert daemon_id(path, CountingIds()) == made
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["x", "", "00000000-0000-7000-8000-00000000000G", "\xff"])
def test_a_file_that_holds_no_id_stops_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "daemon_id"
    path.write_text(text)
    with pytest.raises(BadDaemonId, match="daemon_id"):
        daemon_id(path, CountingIds())
    assert path.read_text() == text


@pytest.mark.parametrize("abstract", [True, False])
def test_the_service_manager_is_told(abstract: bool) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="efr-") as folder,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager,
    ):
        manager.settimeout(LIMIT_S)
        name = f"\0efr-test-{os.getpid()}" if abstract else f"{folder}/notify"
        manager.bind(name)
        Notifier(name.replace("\0", "@")).send("READY=1")
        assert manager.recv(100) == b"READY=1"


def test_no_service_manager_or_a_gone_one_is_no_failure(tmp_path: Path) -> None:
    Notifier(None).send("READY=1")
    Notifier("").send("READY=1")
    Notifier(str(tmp_path / "gone")).send("READY=1")


def test_the_unit_fits_what_efrd_does() -> None:
    unit = configparser.ConfigParser(strict=True, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string((files("efr") / "assets" / "systemd" / "efrd.service").read_text())
    service = unit["Service"]
    assert service["Type"] == "notify"
    assert service["ExecStart"] == "%h/.local/bin/efrd"
    assert service["ExecReload"].endswith("-HUP $MAINPID")
    assert (service["Restart"], service["RestartSec"]) == ("always", "5")
    assert service["RestartPreventExitStatus"] == str(EXIT_LOCKED)
    assert (service["KillMode"], service["OOMPolicy"]) == ("mixed", "continue")
    assert int(service["TimeoutStopSec"]) > 2 * (STOP_S + LAST_RESORT_S)
    assert service["Environment"] == "EFR_LOG=info"
    assert unit["Unit"]["StartLimitBurst"] == "10"
    assert unit["Install"]["WantedBy"] == "default.target"


def test_a_stop_runs_backwards_and_goes_on_after_a_failure() -> None:
    done: list[tuple[str, float]] = []
    started = Started()
    started.add("one", lambda deadline: done.append(("one", deadline)))

    def fails(deadline: float) -> None:
        done.append(("two", deadline))
        raise RuntimeError("two")

    started.add("two", fails)
    started.add("three", lambda deadline: done.append(("three", deadline)))
    assert started.stop(7.0) is False
    assert done == [("three", 7.0), ("two", 7.0), ("one", 7.0)]
    assert started.stop(8.0) is True
    assert len(done) == 3


def test_threads_that_miss_the_deadline_make_the_stop_unclean() -> None:
    started = Started()
    started.add("readers", lambda deadline: ["store-reader-1"])
    assert started.stop(0.0) is False


def test_a_stop_that_is_cut_short_keeps_what_it_did_not_finish() -> None:
    done: list[str] = []
    started = Started()
    started.add("one", lambda deadline: done.append("one"))

    def cut(deadline: float) -> None:
        raise CutShort

    started.add("two", cut)
    with pytest.raises(CutShort):
        started.stop(0.0)
    assert done == []


def test_the_threads_that_still_run_have_names() -> None:
    go = threading.Event()
    thread = threading.Thread(target=go.wait, args=(LIMIT_S,), name="conversation-0000abcd")
    thread.start()
    assert "conversation-0000abcd" in others_alive()
    go.set()
    thread.join()
    assert "conversation-0000abcd" not in others_alive()
