"""What /proc tells about processes, and what follows from it."""

from __future__ import annotations

import os
import subprocess

import pytest

from efr.daemon.processes import Process, first_shell, read_process, terminal_number

TTY = "/dev/pts/3"
NUMBER = 34819
OUTER, INNER, OTHER, LOOSE, ORPHAN = 100, 110, 120, 130, 140

PROCESSES = {
    OUTER: Process(parent=50, session=OUTER, start=1, terminal=NUMBER),
    INNER: Process(parent=OUTER, session=OUTER, start=2, terminal=NUMBER),
    OTHER: Process(parent=50, session=OTHER, start=3, terminal=NUMBER + 1),
    LOOSE: Process(parent=OUTER, session=LOOSE, start=4),
    ORPHAN: Process(parent=1, session=99, start=5, terminal=NUMBER),  # its leader is gone
    150: Process(parent=1, session=160, start=6, terminal=NUMBER),
    160: Process(parent=1, session=160, start=7),  # gave its terminal up
}


@pytest.mark.parametrize(
    ("pid", "tty", "first"),
    [
        (OUTER, TTY, OUTER),
        (INNER, TTY, OUTER),
        (INNER, "/dev/pts/7", INNER),  # a number of another machine, by chance one of here
        (OTHER, TTY, OTHER),
        (LOOSE, TTY, LOOSE),
        (ORPHAN, TTY, ORPHAN),
        (150, TTY, 150),
        (999, TTY, 999),
        (0, TTY, 0),
    ],
)
def test_a_terminal_s_first_shell_leads_the_session(pid: int, tty: str, first: int) -> None:
    numbers = {TTY: NUMBER}
    assert first_shell(pid, tty, PROCESSES.get, numbers.get) == first


def test_the_kernel_tells_the_number_of_a_terminal() -> None:
    master, slave = os.openpty()
    tty = os.ttyname(slave)
    argv = ["setsid", "-c", "sh", "-c", "sh -c 'echo $$; read x; :'; :"]
    with subprocess.Popen(
        argv, stdin=slave, stdout=subprocess.PIPE, text=True, start_new_session=False
    ) as outer:
        assert outer.stdout is not None
        inner = int(outer.stdout.readline())
        process = read_process(inner)
        assert process is not None
        assert process.terminal == terminal_number(tty)
        assert first_shell(inner, tty) == process.session != inner
        os.write(master, b"x\n")
    os.close(slave)
    os.close(master)


@pytest.mark.parametrize("tty", ["/dev/null/x", "/tmp", "/dev", "pts/3", "/dev/../tmp", "/dev/\0"])
def test_what_is_no_terminal_has_no_number(tty: str) -> None:
    assert terminal_number(tty) is None
