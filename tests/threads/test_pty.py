"""The pty-reader thread with real programs on real PTYs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from efr.shell.errors import PtyClosed, ShellDidNotStart
from efr.shell.spawn import Program, spawn
from efr.shell.standing import nearest_directory
from efr.threads.pty import PtyLink, PtyReader

LIMIT_S = 15.0
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "X": "é\udcff"}


class Collector:
    """Keeps what a PTY gives."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.calls = 0
        self.link: PtyLink | None = None
        self.changed = threading.Condition()
        self.exit_code: int | None = None
        self.over = False

    @property
    def text(self) -> bytes:
        return b"".join(self.pieces)

    def fed(self, data: bytes) -> None:
        assert threading.current_thread().name == "pty-reader"
        with self.changed:
            self.pieces.append(data)
            self.changed.notify_all()

    def more(self) -> None:
        self.calls += 1
        if self.calls < 3 and self.link is not None:
            self.link.again()
        with self.changed:
            self.changed.notify_all()

    def ended(self, exit_code: int | None) -> None:
        with self.changed:
            self.over, self.exit_code = True, exit_code
            self.changed.notify_all()

    def wait(self, wanted: bytes | None = None) -> None:
        """Blocks until the end, or until the text holds `wanted`."""
        with self.changed:
            assert self.changed.wait_for(
                lambda: self.over if wanted is None else wanted in self.text, LIMIT_S
            ), self.text


@pytest.fixture
def reader() -> Iterator[PtyReader]:
    made = PtyReader()
    made.start()
    yield made
    made.stop()
    made.stop()
    assert not made.is_alive()


def start(reader: PtyReader, script: str, directory: str = "/usr") -> Collector:
    collector = Collector()
    what = Program("/bin/sh", ["sh", "-c", script], directory, ENVIRONMENT)
    spawned = spawn(what, 100, 30)
    collector.link = reader.attach(spawned.master, spawned.pid, collector)
    return collector


def test_bytes_come_in_order_and_the_end_last(reader: PtyReader) -> None:
    collectors = [start(reader, "seq 200000; exit 3") for _ in range(3)]
    for collector in collectors:
        collector.wait()
    wanted = "".join(f"{n}\r\n" for n in range(1, 200001)).encode()

    assert [collector.text == wanted for collector in collectors] == [True] * 3
    assert [collector.exit_code for collector in collectors] == [3] * 3
    assert len(collectors[0].pieces) < 2000


def test_a_signal_is_128_and_its_number(reader: PtyReader) -> None:
    collector = start(reader, "kill -TERM $$")
    collector.wait()

    assert collector.exit_code == 143


def test_a_program_has_its_own_session_directory_and_environment(reader: PtyReader) -> None:
    collector = start(reader, "ps -o sid=,tpgid= -p $$; pwd; printf '%s' \"$X\" | od -An -tx1; env")
    collector.wait()
    lines = collector.text.decode(errors="surrogateescape").split("\r\n")

    assert len(set(lines[0].split())) == 1
    assert lines[1:3] == ["/usr", " c3 a9 ff"]
    names = {line.partition("=")[0] for line in lines[3:] if line}
    assert names <= {"PATH", "X", "PWD", "_", "OLDPWD", "SHLVL"}


def test_what_is_typed_arrives_whole(reader: PtyReader) -> None:
    collector = start(reader, "stty raw -echo; echo ready; head -c 300000 | cksum")
    collector.wait(b"ready")
    assert collector.link is not None
    for _ in range(3):
        collector.link.send(b"x" * 100_000)
    collector.wait()

    assert b"300000" in collector.text


def test_a_program_that_does_not_read_blocks_nobody(reader: PtyReader) -> None:
    deaf = start(reader, "stty raw -echo; echo ready; sleep 60")
    deaf.wait(b"ready")
    assert deaf.link is not None
    for _ in range(6):
        deaf.link.send(b"x" * (1 << 20))
    other = start(reader, "echo there")
    other.wait()

    assert other.text == b"there\r\n"
    deaf.link.ask(lambda master: os.kill(os.tcgetpgrp(master), 9)).result(LIMIT_S)


def test_jobs_run_on_the_thread_and_not_after_the_end(reader: PtyReader) -> None:
    collector = start(reader, "read x")
    assert collector.link is not None
    name = collector.link.ask(lambda _master: threading.current_thread().name).result(LIMIT_S)
    with pytest.raises(ZeroDivisionError):
        collector.link.ask(lambda _master: 1 // 0).result(LIMIT_S)
    collector.link.send(b"\n")
    collector.wait()
    gone = collector.link.ask(os.tcgetpgrp)

    assert name == "pty-reader"
    with pytest.raises(PtyClosed):
        gone.result(LIMIT_S)


def test_more_is_called_between_turns(reader: PtyReader) -> None:
    collector = start(reader, "read x")
    link = collector.link
    assert link is not None
    link.ask(lambda _master: link.again()).result(LIMIT_S)
    with collector.changed:
        assert collector.changed.wait_for(lambda: collector.calls == 3, LIMIT_S)


def test_nothing_is_left_after_a_stop() -> None:
    before = set(os.listdir("/proc/self/fd"))
    reader = PtyReader()
    reader.start()
    collectors = [start(reader, "trap '' HUP; sleep 60") for _ in range(3)]
    pids = [collector.link.pid for collector in collectors if collector.link is not None]
    reader.stop()

    assert set(os.listdir("/proc/self/fd")) == before
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_what_comes_after_a_stop_is_refused() -> None:
    before = set(os.listdir("/proc/self/fd"))
    reader = PtyReader()
    reader.start()
    collector = start(reader, "sleep 60")
    reader.stop()
    collector.wait()

    assert collector.link is not None
    with pytest.raises(PtyClosed):
        collector.link.ask(os.tcgetpgrp).result(LIMIT_S)
    with pytest.raises(PtyClosed):
        start(reader, "sleep 60")
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_program_that_cannot_run_says_why() -> None:
    before = set(os.listdir("/proc/self/fd"))
    for program, directory in (("/does/not/exist", "/"), ("/bin/sh", "/does/not/exist")):
        with pytest.raises(ShellDidNotStart, match="No such file"):
            spawn(Program(program, ["x"], directory, {}), 80, 24)

    assert set(os.listdir("/proc/self/fd")) == before


def test_a_missing_directory_is_its_nearest_parent() -> None:
    assert nearest_directory("/usr/bin/does/not") == "/usr/bin"
    assert nearest_directory("/usr/bin/env/x") == "/usr/bin"
