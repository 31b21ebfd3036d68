"""When a turn takes snapshots, what it records of them, and what a failed one costs."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from efr.agent.commit import TurnLog
from efr.agent.turn_files import TurnFiles
from efr.base.cancel import Cancel
from efr.base.clock import SystemClock
from efr.config import schema
from efr.config.project_text import Project
from efr.policy.needs import CallNeeds, PathUse
from efr.snapshots.room import Snapshots
from efr.tools.contract import Where
from efr.wire import events as ev
from efr.wire import types as t

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

SHELL = CallNeeds("shell", command="make")


@dataclass
class FakeLog:
    """What was recorded."""

    conversation_id: str = "01890a5d-ac96-774b-bcce-b302099a8057"
    turn_id: str = "01890a5d-ac96-774b-bcce-b302099a8058"
    events: list[Any] = field(default_factory=list)

    def record(self, *events: ev.Event) -> None:
        self.events += events

    def taken(self) -> list[tuple[str, str]]:
        return [(os.path.basename(one.root), one.phase.value) for one in self.events]


@dataclass
class Registry:
    """Registered projects."""

    roots: tuple[Path, ...]

    def all(self) -> tuple[Project, ...]:
        return tuple(Project(str(n), str(root), None) for n, root in enumerate(self.roots))


@dataclass
class World:
    """A project, a $SCRATCH, another project, and what makes a turn."""

    home: Path
    log: FakeLog
    make: Callable[..., TurnFiles]

    def write(self, path: str, text: str = "one\n") -> None:
        (self.home / path).write_text(text)


@pytest.fixture
def world(tmp_path: Path) -> World:
    for name in ("app", "scratch", "lib", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "scratch/.efr-conversation").write_text("id\n")
    (tmp_path / "app/a").write_text("one\n")
    (tmp_path / "lib/l").write_text("one\n")
    log = FakeLog()
    room = Snapshots(
        tmp_path / "data/snapshots",
        os.environ["PATH"],
        SystemClock(),
        lambda: [str(tmp_path / "data")],
        ".efr-conversation",
    )
    home = str(tmp_path)
    where = Where(home, home, home, str(tmp_path / "scratch"), str(tmp_path / "app"))

    def make(given: schema.Snapshot | None = None, *, auto: bool = False) -> TurnFiles:
        settings = given or schema.Snapshot()
        roots = (tmp_path / "app", tmp_path / "lib", tmp_path / "app/inner")
        named = Registry(roots) if auto else None
        return TurnFiles(room, settings, cast(TurnLog, log), where, named, SystemClock())

    return World(tmp_path, log, make)


def paths(changes: t.FileChanges | None) -> list[str]:
    return [] if changes is None else [one.path for one in changes.files]


def writes(path: Path) -> CallNeeds:
    return CallNeeds("write_file", paths=(PathUse(str(path), "write"),))


def test_a_turn_without_a_change_takes_none(world: World) -> None:
    files = world.make()
    read = CallNeeds("read_file", paths=(PathUse(str(world.home / "app/a"), "read"),))
    assert files.before(read, Cancel()) == {}
    assert files.before(writes(world.home / "elsewhere"), Cancel()) == {}
    assert files.end(Cancel()) == (None, None)
    assert world.log.events == []
    assert not (world.home / "data/snapshots").exists()


def test_a_file_tool_is_looked_at_where_it_writes_and_lists_its_own(world: World) -> None:
    files = world.make()
    (world.home / "link").symlink_to(world.home / "app")
    assert files.before(writes(world.home / "link/a"), Cancel()) == {}
    world.write("app/a", "two\n")
    world.write("scratch/s")
    assert files.before(writes(world.home / "app/b"), Cancel()) == {}
    changes, undo = files.end(Cancel())
    assert paths(changes) == ["a"]
    assert undo is None
    assert world.log.taken() == [("app", "pre"), ("app", "post")]


def test_a_command_is_looked_at_in_the_project_and_in_scratch(world: World) -> None:
    files = world.make()
    before = files.before(SHELL, Cancel())
    assert world.log.taken() == [("app", "pre")], "nothing is lost with an empty $SCRATCH"
    world.write("app/a", "two\n")
    world.write("scratch/s")
    world.write("lib/l", "two\n")
    assert paths(files.after(before, Cancel())) == ["$SCRATCH/s", "a"]
    world.write("app/a")  # between the calls: the user takes it back
    before = files.before(SHELL, Cancel())
    assert files.after(before, Cancel()) is None
    assert paths(files.end(Cancel())[0]) == ["$SCRATCH/s"]
    assert world.log.taken() == [
        ("app", "pre"),
        ("scratch", "pre"),
        ("app", "post"),
        ("scratch", "post"),
    ]


def test_in_auto_the_projects_that_a_line_names_count_too(world: World) -> None:
    files = world.make(auto=True)
    line = CallNeeds(
        "shell", (PathUse(str(world.home / "lib/l"), "read"),), "sed -i s/o/0/ ../lib/l"
    )
    before = files.before(line, Cancel())
    world.write("lib/l", "two\n")
    assert paths(files.after(before, Cancel())) == ["~/lib/l"]


def test_a_file_in_a_project_inside_the_project_is_listed_once(world: World) -> None:
    files = world.make(auto=True)
    (world.home / "app/inner").mkdir()
    world.write("app/inner/x")
    line = CallNeeds("shell", (PathUse(str(world.home / "app/inner/x"), "write"),), "make")
    before = files.before(line, Cancel())
    world.write("app/inner/x", "two\n")
    world.write("app/a", "two\n")
    changes = files.after(before, Cancel())
    assert paths(changes) == ["a", "inner/x"]
    assert changes is not None
    assert (changes.added, changes.removed) == (2, 2)


def test_a_directory_that_cannot_be_taken_is_named_and_tried_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(101):
        world.write(f"app/f{number}")
    files = world.make(schema.Snapshot(max_files=100))
    with caplog.at_level(logging.WARNING):
        before = files.before(SHELL, Cancel())
        files.before(SHELL, Cancel())
    assert [one.getMessage() for one in caplog.records] == [
        f"no snapshot of {world.home / 'app'}: more than 100 files"
    ]
    world.write("scratch/s")
    assert paths(files.after(before, Cancel())) == ["$SCRATCH/s"]
    changes, undo = files.end(Cancel())
    assert paths(changes) == ["$SCRATCH/s"]
    assert undo == t.UndoSummary(not_covered=("~/app",))


def test_an_interrupt_stops_the_first_snapshot_but_not_the_last(world: World) -> None:
    files, cancel = world.make(), Cancel()
    before = files.before(SHELL, cancel)
    world.write("app/a", "two\n")
    cancel.cancel()
    assert files.before(SHELL, cancel) == {}
    assert paths(files.after(before, cancel)) == ["a"]
    assert paths(files.end(cancel)[0]) == ["a"]


def test_snapshots_can_be_turned_off(world: World) -> None:
    files = world.make(schema.Snapshot(enabled=False))
    assert files.before(SHELL, Cancel()) == {}
    assert files.end(Cancel()) == (None, None)
