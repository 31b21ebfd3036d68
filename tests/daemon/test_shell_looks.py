"""When the hidden shells are looked at."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from efr.daemon.shell_looks import ShellLooks
from efr.shell.contract import BusyCommand, InputState
from tests.agent.scripted import ScriptedTimer
from tests.harness.clock import FakeClock

COMMAND = BusyCommand("call", "sleep 9", 0, False, True, InputState(), False)


class World:
    """Shells that say when to look again, and somebody who records their reports."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.timer: Any = ScriptedTimer(self.clock)
        self.heard: list[str] = []
        self.looked: list[float] = []
        self.again: float | Exception | None = None
        self.looks = ShellLooks(Recorded(self.heard), self.timer, self.clock)
        self.looks.begin(self)

    def tend(self) -> float | None:
        self.looked.append(self.clock.monotonic() - 1000)
        if isinstance(self.again, Exception):
            raise self.again
        return self.again

    def shell(self) -> None:
        self.looks.started("c", "p", "/", 7)

    def left(self) -> None:
        self.looks.left_behind("c", COMMAND)


class Recorded:
    """Notes the name of each report."""

    def __init__(self, heard: list[str]) -> None:
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self._heard.append(name)


def test_without_a_shell_nothing_wakes_up() -> None:
    world = World()
    assert world.timer.live == 0
    world.timer.advance(86_400)
    assert world.looked == []


def test_an_idle_shell_is_looked_at_once_a_minute_until_it_is_gone() -> None:
    world = World()
    world.shell()
    world.shell()
    world.again = 60.0
    world.timer.advance(150)
    assert world.looked == [60, 120]
    world.again = None
    world.timer.advance(3600)
    assert world.looked == [60, 120, 180]
    assert world.timer.live == 0


def test_a_command_left_running_brings_the_next_look_forward() -> None:
    world = World()
    world.shell()
    world.timer.advance(10)
    world.left()
    world.again = 1.0
    world.timer.advance(3)
    assert world.looked == [11, 12, 13]
    world.again = 60.0
    world.timer.advance(120)
    assert world.looked[3:] == [14, 74]
    assert world.timer.live == 1


def test_a_look_that_fails_is_made_again(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.shell()
    world.again = RuntimeError("broken")
    world.timer.advance(60)
    world.again = None
    world.timer.advance(60)
    assert world.looked == [60, 120]
    assert [one.levelno for one in caplog.records] == [logging.ERROR]


def test_every_report_is_passed_on() -> None:
    world = World()
    world.shell()
    world.left()
    world.looks.left_input_changed("c", COMMAND)
    world.looks.left_ended("c", "call", "ended", 0)
    world.looks.cwd_changed("c", "p", "/usr")
    world.looks.exited("c", "p", 0)
    assert world.heard == [
        "started",
        "left_behind",
        "left_input_changed",
        "left_ended",
        "cwd_changed",
        "exited",
    ]


def test_after_a_stop_no_look_begins() -> None:
    world = World()
    world.shell()
    world.looks.stop(0.0)
    world.looks.stop(0.0)
    world.left()
    world.timer.advance(3600)
    assert world.looked == []
