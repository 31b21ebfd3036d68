"""A real efrd process on throwaway roots.

    with Daemon(tmp_path, settings='[model]\nprovider = "demo"\n') as daemon:
        client = daemon.client()

`start` returns when the daemon has said READY=1 and raises DaemonFailed when it ends before. The
runtime root is a short folder of its own, so that the socket's path fits. Its PATH and home are
the test's; nothing of the user's own efr is touched.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from efr.base.roots import Roots, find_roots
from tests.harness.raw_client import RawClient, connected

ROOT = Path(__file__).parents[2]
START_LIMIT_S = 30.0  # a machine under load; a healthy start takes well under a second
STOP_LIMIT_S = 30.0
# Becomes efrd, and dies with the thread that started it: no test leaves a daemon behind. By its
# path: a test's daemon may have another PATH.
_LAUNCH = (shutil.which("setpriv") or "setpriv", "--pdeathsig", "KILL", "--")
DEMO = '[model]\nprovider = "demo"\n'


class DaemonFailed(AssertionError):
    """efrd ended before it was ready."""

    def __init__(self, code: int, output: str) -> None:
        super().__init__(f"efrd ended with {code}: {output}")
        self.code = code
        self.output = output


class Daemon:
    """One set of roots, and at most one running process at a time."""

    def __init__(
        self,
        folder: Path,
        *,
        settings: str = DEMO,
        env: Mapping[str, str] | None = None,
        flags: Sequence[str] = (),
        streams: str = "",
    ) -> None:
        """`streams`: redirections of a shell for the process, such as `<&-`."""
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self._short = Path(tempfile.mkdtemp(prefix="efr-", dir="/tmp"))
        self.log_file = folder / "efrd.log"
        self.flags = list(flags)
        self.streams = streams
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "EFR_HOME": str(folder / "efr"),
            "EFR_RUNTIME_DIR": str(self._short / "r"),
            "EFR_LOG": "info",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "PYTHONWARNINGS": "error",
            **(env or {}),
        }
        self.process: subprocess.Popen[bytes] | None = None
        self._notify: socket.socket | None = None
        self.write_settings(settings)

    def __enter__(self) -> Daemon:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def roots(self) -> Roots:
        return find_roots(self.env, os.geteuid())

    @property
    def socket(self) -> Path:
        return self.roots.socket

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        """What the daemon logged so far, over all its starts."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def write_settings(self, settings: str) -> None:
        """Writes config.toml."""
        self.roots.config.path.mkdir(parents=True, exist_ok=True)
        self.roots.config_file.write_text(settings)

    def launch(self) -> Daemon:
        """Starts the process and returns at once."""
        assert self.process is None, "it runs already"
        self._close_notify()
        notify = self._short / "notify"
        notify.unlink(missing_ok=True)
        self._notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._notify.bind(str(notify))
        env = {**self.env, "NOTIFY_SOCKET": str(notify)}
        command = [sys.executable, str(ROOT / "efrd.py"), *self.flags]
        if self.streams:
            command = ["sh", "-c", f'exec "$@" {self.streams}', "sh", *command]
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                [*_LAUNCH, *command],
                env=env,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def start(self) -> Daemon:
        """Starts the process and waits until it is ready."""
        self.launch()
        self.wait_for("READY=1")
        return self

    def wait_for(self, state: str) -> None:
        """Waits for a word to the service manager. DaemonFailed when the process ends instead."""
        assert self.process is not None
        assert self._notify is not None
        handle = os.pidfd_open(self.process.pid)
        try:
            while True:
                words = self._notify.fileno()
                ready, _, _ = select.select([words, handle], [], [], START_LIMIT_S)
                assert ready, f"no {state} in time:\n{self.log}"
                if words in ready:
                    if self._notify.recv(4096).decode() == state:
                        return
                else:
                    code = self.process.wait()
                    self.process = None
                    raise DaemonFailed(code, self.log)
        finally:
            os.close(handle)

    def run_to_end(self) -> tuple[int, str]:
        """Starts a daemon that ends by itself; its exit code and what it printed."""
        before = len(self.log)
        self.launch()
        return self.wait(), self.log[before:]

    def wait(self) -> int:
        """Waits for the end of the process; its exit code (negative: a signal)."""
        assert self.process is not None
        code = self.process.wait(STOP_LIMIT_S)
        self.process = None
        return code

    def signal(self, number: int) -> None:
        """Sends a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """SIGKILL: it cannot tidy up."""
        self.signal(signal.SIGKILL)
        assert self.wait() == -signal.SIGKILL

    def client(self, origin: str = "cli", **hello: Any) -> RawClient:
        """A connection that has said hello."""
        return connected(self.socket, origin, **hello)

    def close(self) -> None:
        """Ends what runs and removes the short folder."""
        if self.process is not None:
            self.signal(signal.SIGTERM)
            try:
                self.wait()
            except subprocess.TimeoutExpired:
                self.kill()
        self._close_notify()
        shutil.rmtree(self._short, ignore_errors=True)

    def _close_notify(self) -> None:
        if self._notify is not None:
            self._notify.close()
            self._notify = None
