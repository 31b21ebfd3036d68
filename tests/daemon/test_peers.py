"""Telling processes that the model's commands started from the user's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from efr.base.clock import SystemClock
from efr.daemon import subreaper
from efr.daemon.peers import ModelSide
from efr.daemon.processes import Process, read_process, start_us
from efr.threads.requests import Peer
from efr.wire import types as t
from tests.harness.raw_client import LIMIT_S

EFRD, SHELL, CHILD, USER = 100, 200, 300, 400
PROCESSES = {
    EFRD: Process(parent=50, session=50, start=1),
    SHELL: Process(parent=EFRD, session=SHELL, start=2),
    CHILD: Process(parent=SHELL, session=SHELL, start=3),
    301: Process(parent=CHILD, session=301, start=4),  # called setsid
    302: Process(parent=EFRD, session=302, start=5),  # forked twice: efrd is its parent now
    303: Process(parent=1, session=SHELL, start=6),  # kept the session alone
    USER: Process(parent=50, session=USER, start=7),
    50: Process(parent=1, session=50, start=0),  # the terminal that started efrd
    500: Process(parent=501, session=500, start=8),
    501: Process(parent=500, session=500, start=8),  # a loop cannot be; it must not hang
}


def peer(pid: int, start: int | None = None, *, remote: bool = False) -> Peer:
    process = PROCESSES.get(pid)
    known = process.start if process is not None and start is None else start
    return Peer(1, pid, known, frozenset(t.ScopeName), remote=remote)


def model_side() -> ModelSide:
    return ModelSide(EFRD, lambda: {SHELL}, PROCESSES.get)


@pytest.mark.parametrize(
    ("pid", "expected"),
    [
        (SHELL, True),
        (CHILD, True),
        (301, True),
        (302, True),
        (303, True),
        (USER, False),
        (50, False),
        (500, True),
        (999, True),
        (0, True),
    ],
)
def test_who_descends_from_a_hidden_shell_or_is_gone_is_model_side(
    pid: int, expected: bool
) -> None:
    assert model_side().is_model_side(peer(pid)) is expected


def test_a_reused_pid_is_somebody_who_is_gone() -> None:
    assert model_side().is_model_side(peer(USER, start=6))


def changing(*states: dict[int, Process]) -> ModelSide:
    """Every look at a pid that ended moves on to the next state of the machine."""
    left = list(states)

    def look(pid: int) -> Process | None:
        found = left[0].get(pid)
        if found is None and len(left) > 1:
            left.pop(0)
        return found

    return ModelSide(EFRD, set, look)


def test_a_parent_that_ends_meanwhile_hides_nobody() -> None:
    """It was read as the parent and was gone at the next look: the child has another one now."""
    efrd = {EFRD: Process(parent=50, session=50, start=1)}
    before = {USER: Process(parent=600, session=USER, start=7), **efrd}
    orphaned = {USER: Process(parent=EFRD, session=USER, start=7), **efrd}
    assert changing(before, orphaned).is_model_side(peer(USER))
    reparented = {USER: Process(parent=1, session=USER, start=7), **efrd}
    assert not changing(before, reparented).is_model_side(peer(USER))
    assert changing(before, efrd).is_model_side(peer(USER)), "it is gone itself"
    assert changing(before).is_model_side(peer(USER)), "nobody can say"


def test_a_parent_that_is_younger_than_its_child_is_somebody_else() -> None:
    reused = {
        USER: Process(parent=600, session=USER, start=7),
        600: Process(parent=1, session=600, start=8),
    }
    assert changing(reused).is_model_side(peer(USER)), "nobody can say"


def test_what_cannot_be_read_is_told_and_is_not_taken_for_gone(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    assert read_process(7, tmp_path) is None
    (tmp_path / "7" / "stat").mkdir()
    with pytest.raises(IsADirectoryError):
        read_process(7, tmp_path)


def test_a_phone_has_no_process_here() -> None:
    assert not model_side().is_model_side(peer(999, remote=True))


def test_this_process_is_read_as_it_is() -> None:
    found = read_process(os.getpid())
    assert found is not None
    assert (found.parent, found.session) == (os.getppid(), os.getsid(0))
    assert read_process(2**22 + 1) is None


def test_the_start_of_a_process_is_told_in_wall_time() -> None:
    now = SystemClock().now_us()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = start_us(child.pid)
    assert started is not None
    assert abs(started - now) < 2_000_000
    child.communicate(b"\n", timeout=LIMIT_S)
    assert start_us(child.pid) is None


ORPHAN = """
import os, sys
parent_lives, its_end = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.close(its_end)
        os.read(parent_lives, 1)  # until every other holder of the pipe is gone
        print(os.getpid(), flush=True)
        sys.stdin.read()  # until the test ends it
    os._exit(0)
"""


def test_an_orphan_comes_to_the_subreaper_and_its_exit_is_taken() -> None:
    program = (
        "import subprocess, sys, os\n"
        "from efr.daemon import subreaper, processes\n"
        "subreaper.become_subreaper()\n"
        f"child = subprocess.Popen([sys.executable, '-c', {ORPHAN!r}],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)\n"
        "child.wait()\n"
        "pid = int(child.stdout.readline())\n"
        "found = processes.read_process(pid)\n"
        "print(found.parent == os.getpid(), found.session != os.getsid(0))\n"
        "os.kill(pid, 9)\n"
        "os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)\n"
        "reaper = subreaper.OrphanReaper()\n"
        "print(reaper.sweep(), reaper.sweep(), reaper.sweep())\n"
        "print(os.path.exists(f'/proc/{pid}'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.stdout.split() == ["True", "True", "0", "2", "0", "False"], done.stderr


def test_a_child_that_its_owner_waits_for_is_left_alone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    reaper = subreaper.OrphanReaper()
    assert (reaper.sweep(), reaper.sweep()) == (0, 0)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert reaper.sweep() == 0
    assert child.wait(LIMIT_S) == -signal.SIGKILL
    assert reaper.sweep() == 0
    assert child.stdin is not None
    child.stdin.close()
