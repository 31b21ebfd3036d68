from __future__ import annotations

import stat
from pathlib import Path

import pytest

from efr.agent.followers import Followers
from efr.agent.notices import Notices, file_name, notice_line
from tests.agent.scripted import ScriptedTimer
from tests.harness.clock import FakeClock

C = "conversation-1"
TTY = "/dev/pts/3"


class World:
    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.timer = ScriptedTimer(self.clock)
        self.followers = Followers(self.clock)
        self.folder = folder / "notices"
        self.notices = Notices(self.folder, self.clock, self.timer, self.followers)

    @property
    def lines(self) -> list[str]:
        file = self.folder / "pts-3"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_line_nobody_saw_is_appended_to_a_private_file(world: World) -> None:
    world.notices.tell(C, TTY, 5, "one")
    world.notices.tell(C, TTY, 6, "two\nlines\x1b[0m")
    assert world.lines == ["one", "two lines␛[0m"]
    assert stat.S_IMODE((world.folder / "pts-3").stat().st_mode) == 0o600
    assert stat.S_IMODE(world.folder.stat().st_mode) == 0o700


def test_an_event_that_an_open_stream_was_handed_gets_none(world: World) -> None:
    stream = world.followers.join(C, False, TTY)
    world.notices.tell(C, TTY, 5, "done")
    stream.handed(5)
    stream.leave()
    world.timer.advance(0)
    assert world.lines == []


def test_a_stream_that_ended_before_the_event_leaves_one(world: World) -> None:
    stream = world.followers.join(C, False, TTY)
    stream.handed(4)
    world.notices.tell(C, TTY, 5, "done")
    assert world.lines == []
    stream.leave()
    world.timer.advance(0)
    assert world.lines == ["done"]


def test_a_line_is_held_until_the_last_connection_that_may_show_it_ended(world: World) -> None:
    world.followers.prompted(1, C, TTY)
    stream = world.followers.join(C, False, TTY)
    world.notices.tell(C, TTY, 5, "done")
    stream.leave()
    world.timer.advance(0)
    assert world.lines == []
    world.followers.connection_closed(1)
    world.timer.advance(0)
    assert world.lines == ["done"]


def test_a_lease_of_59_seconds_shows_it_and_one_of_61_does_not(world: World) -> None:
    world.followers.report_lease(1, TTY, [C])
    world.clock.advance(59)
    world.notices.tell(C, TTY, 5, "done")
    assert world.lines == []
    world.clock.advance(2)
    world.notices.tell(C, TTY, 6, "done")
    assert world.lines == ["done"]


def test_another_terminals_stream_does_not_count(world: World) -> None:
    world.followers.join(C, False, "/dev/pts/9").handed(5)
    world.notices.tell(C, TTY, 5, "done")
    assert world.lines == ["done"]


@pytest.mark.parametrize(
    ("tty", "name"),
    [
        ("/dev/pts/3", "pts-3"),
        ("/dev/tty1", "tty1"),
        ("../x", None),
        ("/dev/../x", None),
        ("/dev/pts/a b", None),
        ("", None),
        ("/dev/", None),
    ],
)
def test_a_tty_names_a_file_only_when_it_cannot_leave_the_folder(
    tty: str, name: str | None
) -> None:
    assert file_name(tty) == name


def test_the_login_hint_is_never_cut_off() -> None:
    line = notice_line("efr: it failed: " + "x" * 300, "(log in: efr login openai)")
    assert len(line) == 200
    assert line.endswith("... (log in: efr login openai)")


def test_a_folder_that_cannot_be_written_costs_the_line_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)
    world.folder.write_text("a file in the way")
    world.notices.tell(C, TTY, 5, "done")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
