"""Whether a terminal's shell is still the process it was."""

from __future__ import annotations

from efr.agent.shell_life import ShellLives, ShellStart


class Machine:
    """Processes by number, and a clock that may jump: it moves every start time with it."""

    def __init__(self) -> None:
        self.started: dict[int, int] = {}
        self.jump = 0

    def __call__(self, pid: int) -> ShellStart | None:
        ticks = self.started.get(pid)
        return None if ticks is None else ShellStart(ticks, ticks + self.jump)


def test_a_shell_runs_while_its_process_does() -> None:
    machine = Machine()
    lives = ShellLives(machine)
    assert not lives.runs(7, 100)
    assert not lives.runs(None, 100)
    machine.started[7] = 50
    assert lives.runs(7, 100)
    assert lives.runs(7, 50)


def test_what_started_after_the_last_use_is_another_program() -> None:
    machine = Machine()
    machine.started[7] = 101
    assert not ShellLives(machine).runs(7, 100)
    assert not ShellLives(machine).runs(7, None)


def test_a_shell_that_was_seen_is_known_whatever_the_clock_says() -> None:
    machine = Machine()
    lives = ShellLives(machine)
    machine.started[7] = 50
    lives.seen(7)
    machine.jump = 1_000
    assert lives.runs(7, 100)
    machine.started[7] = 60  # the number came again
    machine.jump = -1_000
    assert not lives.runs(7, 100)


def test_an_unknown_or_dead_shell_is_not_remembered() -> None:
    machine = Machine()
    lives = ShellLives(machine)
    lives.seen(None)
    lives.seen(7)
    machine.started[7] = 50
    assert lives.runs(7, 100)


def test_a_forgotten_shell_is_known_by_the_log() -> None:
    machine = Machine()
    lives = ShellLives(machine)
    for pid in range(2000):
        machine.started[pid] = 50
        lives.seen(pid)
    machine.started[1] = machine.started[1999] = 60
    assert lives.runs(1, 100)
    assert not lives.runs(1999, 100)
