"""What ends a daemon beside a signal. Each runs `main` in a process with one thread too many."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from efr.daemon import later
from tests.harness.daemon import DEMO, ROOT
from tests.harness.raw_client import LIMIT_S

HEAD = """
import os, signal, socket, sys, threading
from efr.daemon.main import Flags, run

def when_ready(work):
    def wait():
        notify.recv(100)
        work()
    threading.Thread(target=wait, name="the-odd-one").start()

notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
notify.bind(os.environ["NOTIFY_SOCKET"])
"""


@pytest.fixture(name="env")
def _env(tmp_path: Path) -> Iterator[dict[str, str]]:
    with tempfile.TemporaryDirectory(prefix="efr-") as short:
        config = tmp_path / "efr" / "config"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(DEMO)
        yield {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "EFR_HOME": str(tmp_path / "efr"),
            "EFR_RUNTIME_DIR": f"{short}/r",
            "NOTIFY_SOCKET": f"{short}/notify",
            "PYTHONPATH": str(ROOT),
        }


def run(env: dict[str, str], body: str) -> subprocess.CompletedProcess[str]:
    program = HEAD + textwrap.dedent(body) + "\nsys.exit(run(Flags(), dict(os.environ)))\n"
    return subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=LIMIT_S
    )


def test_a_thread_that_breaks_takes_the_daemon_down(env: dict[str, str]) -> None:
    done = run(
        env,
        """
        def breaks():
            raise RuntimeError("this thread is broken")
        when_ready(breaks)
        """,
    )
    assert done.returncode == 1
    assert "the thread the-odd-one ended by an exception; efrd stops" in done.stderr
    assert "this thread is broken" in done.stderr
    assert not Path(env["EFR_RUNTIME_DIR"], "daemon.sock").exists()


def test_a_thread_that_does_not_end_is_named_and_not_waited_for(env: dict[str, str]) -> None:
    done = run(
        env,
        """
        def stays():
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait()
        when_ready(stays)
        """,
    )
    assert done.returncode == 1
    assert "efrd ends without waiting for: the-odd-one" in done.stderr
    assert not Path(env["EFR_RUNTIME_DIR"], "daemon.sock").exists()


def test_a_second_signal_cuts_the_waits(env: dict[str, str]) -> None:
    done = run(
        env,
        """
        def impatient():
            os.kill(os.getpid(), signal.SIGTERM)
            notify.recv(100)  # STOPPING=1
            os.kill(os.getpid(), signal.SIGTERM)
            threading.Event().wait()
        when_ready(impatient)
        """,
    )
    assert done.returncode == 1
    assert "efrd ends without waiting for:" in done.stderr


def test_a_signal_that_another_thread_is_handed_stops_it_too(env: dict[str, str]) -> None:
    """As one that comes just before `main` begins to wait: no wait of `main` is interrupted."""
    done = run(
        env,
        """
        def main_waits():
            frame = sys._current_frames()[threading.main_thread().ident]
            with open(f"/proc/self/task/{os.getpid()}/stat") as stat:
                state = stat.read().rpartition(")")[2].split()[0]
            return frame.f_code.co_qualname == "Words.get" and state == "S"

        def stops():
            while not all(main_waits() for _ in range(1000)):
                pass
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        when_ready(stops)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert "SIGTERM: stopping" in done.stderr


def test_what_cannot_be_loaded_later_ends_no_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "half_written.py").write_text("def f(:")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(later, "LATER", ("half_written", "no_such_module", "email.utils"))
    later.load()
    assert [record.getMessage() for record in caplog.records] == [
        "half_written cannot be loaded",
        "no_such_module cannot be loaded",
    ]


def test_a_daemon_that_stays_loads_what_it_left_for_later(env: dict[str, str]) -> None:
    done = run(
        env,
        """
        from efr.daemon import later

        def loads(load=later.load):
            print("efr.shell.hidden" in sys.modules)
            load()
            print({name in sys.modules for name in later.LATER})
            os.kill(os.getpid(), signal.SIGTERM)

        later.SETTLED_S, later.load = 0.0, loads
        """,
    )
    assert (done.returncode, done.stdout) == (0, "False\n{True}\n"), done.stderr
