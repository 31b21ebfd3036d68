"""What goes from the stores with time, and what a kill leaves."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.snapshots.collect import too_old
from tests.harness.daemon import ROOT
from tests.snapshots.kill_child import LIMITS
from tests.snapshots.world import CONVERSATION, OTHER, TURN, World

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

DAY_S = 86_400


def turn(number: int) -> str:
    return f"01890a5d-ac96-774b-bcce-{number:012x}"


def collect(world: World, keep_turns: int = 50) -> None:
    world.room.collect(keep_turns, 30, Cancel())


def make_old(store: Path) -> None:
    """All objects are from two hours ago."""
    for path in store.rglob("objects/**/*"):
        if path.is_file():
            os.utime(path, (path.stat().st_mtime - 7200,) * 2)


def lost(world: World) -> str:
    """What nothing names any more, and what is named and not there."""
    told = world.git("fsck", "--unreachable", "--no-dangling", "--no-reflogs", store=world.store())
    return told.strip()


def test_the_newest_turns_of_each_conversation_stay() -> None:
    refs = [
        f"refs/efr/{conversation}/{turn(number)}/{phase}"
        for conversation, count in ((CONVERSATION, 3), (OTHER, 1))
        for number in range(count)
        for phase in ("post", "pre")
    ]
    others = ["refs/efr-live/ignored", f"refs/efr-undo/{CONVERSATION}/{turn(0)}"]
    assert too_old([*others, *refs], 2) == refs[:2]
    assert too_old([*others, *refs], 3) == []


def test_objects_that_no_turn_names_go_and_those_in_use_stay(world: World) -> None:
    world.write(".gitignore", "*.log\n")
    for number in range(3):
        world.write("a", f"{number}\n")
        world.write("x.log", f"{number}\n")
        world.room.keep(world.take(), CONVERSATION, turn(number), "pre")
    collect(world, keep_turns=1)
    assert lost(world), "they are young and may be of a snapshot that is not named yet"

    make_old(world.store())
    collect(world, keep_turns=1)
    assert lost(world) == ""
    # Nothing was read again for this one: its trees had to stay, though no turn named them.
    world.write("a", "new\n")
    unnamed = world.take()
    make_old(world.store())
    collect(world, keep_turns=1)
    assert world.take() == unnamed
    commit = world.room.keep(world.take(), CONVERSATION, TURN, "post")
    assert lost(world) == ""
    assert world.room.load(str(world.root), commit) is not None


def test_what_a_long_command_is_compared_with_stays(world: World) -> None:
    world.write(".gitignore", "*.log\n")
    world.write("x.log")
    world.write("a")
    world.room.keep(world.take(), CONVERSATION, TURN, "pre")
    world.write("a", "before the command\n")
    world.write("x.log", "before\n")
    before = world.take()
    world.write("a", "by somebody else\n")
    world.write("x.log", "by somebody else\n")
    for _ in range(2):
        world.take()
    store = world.store()
    (store / "refs/efr-live/in-use-9").write_text((store / "HEAD").read_text())  # of a killed pass
    make_old(store)
    collect(world)
    world.write("a", "after\n")
    assert {one.path for one in world.room.changes(before, world.take())} == {"a", "x.log"}
    assert sorted(path.name for path in (store / "refs/efr-live").iterdir()) == ["ignored"]

    del before
    make_old(store)
    collect(world)
    assert lost(world) == ""


def test_a_store_goes_when_nobody_uses_or_names_it(world: World) -> None:
    world.write("a")
    taken = world.take()
    collect(world)
    assert world.store().exists(), "a turn may be about to name it"
    world.clock.moved_s = 3700
    collect(world)
    assert list(world.stores.iterdir()) == []

    before = world.room.keep(world.take(), CONVERSATION, TURN, "pre")
    assert world.take() == taken
    collect(world)
    assert world.room.load(str(world.root), before) is not None
    world.clock.moved_s += 31 * DAY_S
    collect(world)
    assert list(world.stores.iterdir()) == []


def test_many_packs_become_one(world: World) -> None:
    world.write("a")
    commit = world.room.keep(world.take(), CONVERSATION, TURN, "pre")
    world.git("repack", "-q", "-a", "-d", store=world.store())
    (pack,) = world.store().glob("objects/pack/*.pack")
    for number in range(12):
        for suffix in (".pack", ".idx"):
            shutil.copy(pack.with_suffix(suffix), pack.with_name(f"pack-{number:040x}{suffix}"))
    assert len(list(world.store().glob("objects/pack/*.pack"))) == 13
    store = world.store()
    blob = world.git("hash-object", "-w", "--stdin", given="nobody's\n", store=store)
    world.git("pack-objects", "-q", str(store / "objects/pack/pack"), given=blob, store=store)
    (store / "objects" / blob[:2] / blob[2:].strip()).unlink()
    make_old(store)
    assert blob.strip() in lost(world)
    collect(world)
    assert lost(world) == "", "old objects that nothing names go from packs too"
    assert len(list(world.store().glob("objects/pack/*.pack"))) == 1
    assert world.room.load(str(world.root), commit) is not None


def test_a_stop_ends_a_pass(world: World) -> None:
    world.write("a")
    world.room.keep(world.take(), CONVERSATION, TURN, "pre")
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled):
        world.room.collect(50, 30, cancel)


def test_snapshots_of_two_conversations_wait_for_each_other(world: World) -> None:
    for number in range(30):
        world.write(f"f{number}")
    found: list[object] = []

    def take() -> None:
        for _ in range(3):
            found.append(world.take())

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [world.take()] * 9


def test_a_kill_leaves_nothing_that_grows(world: World, tmp_path: Path) -> None:
    for kills in (1, 3, 2):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.snapshots.kill_child", str(tmp_path)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        with child:
            assert child.stdout is not None
            for _ in range(kills):
                assert child.stdout.readline()
            child.kill()
    final = world.take(LIMITS)
    world.room.keep(final, CONVERSATION, turn(99), "pre")
    make_old(world.store())
    collect(world, keep_turns=1)
    store = world.store()
    unnamed = [line.split()[2] for line in lost(world).splitlines()]
    assert not [name for name in unnamed if (store / "objects" / name[:2] / name[2:]).exists()]
    assert not [path for path in store.rglob("*") if path.name.startswith("tmp_")]
    assert not list(world.stores.rglob("*.lock"))
    told = world.git("count-objects", "-v", store=store)
    assert "garbage: 0\n" in told
    assert world.take(LIMITS) == final
