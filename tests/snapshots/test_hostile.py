"""Snapshots of trees that are odd, or that change while git reads them."""

from __future__ import annotations

import logging
import os
import selectors
import shlex
import shutil
import threading
from contextlib import closing
from pathlib import Path

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.base.inotify import Inotify
from efr.snapshots.choice import Limits
from efr.snapshots.errors import NotTaken
from efr.snapshots.room import Snapshots
from efr.snapshots.snapshot import Change, Hidden
from tests.snapshots.world import GIT, World, world_in

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

ROOMY = Limits(max_file_bytes=10_000, max_files=5000, ignored=True)
NAMES = (
    b"a\nb", b"\xff\xfe", b"-dash", b"!bang", b"#hash", b" lead", b"trail ", b":(glob)*", b":!x",
    b"back\\slash", b"*", b"[x]", b'"quote"', b"tab\tx", b"git~1", b".git ", b"a\\.git\\x", b"...",
    b"x\x01\x1b[31m", b"aux", b"a:b", b"A", b"a", b"=>", b"a => b", b"x" * 255,
)  # fmt: skip


def wrapped(world: World, tmp_path: Path, script: str) -> World:
    """The same project, where a script runs before each git; `$*` is git's command line."""
    folder = tmp_path / "bin"
    folder.mkdir()
    git = folder / "git"
    real = shutil.which("git")
    git.write_text(f'#!/bin/sh\n{script}\nexec {real} "$@"\n')
    git.chmod(0o755)
    path = f"{folder}:{GIT['PATH']}"
    room = Snapshots(world.stores, path, world.clock, lambda: [], ".marker")
    return World(world.root, world.stores, world.clock, room)


@pytest.mark.parametrize("folder", ["", "ignored/"])
def test_any_name_is_taken_listed_and_shown(world: World, folder: str) -> None:
    world.write(".gitignore", "ignored/\n")
    (world.root / "ignored").mkdir()
    place = os.path.join(os.fsencode(world.root), folder.encode())

    def write_all(text: str) -> None:
        for name in NAMES:
            Path(os.fsdecode(place + name)).write_text(text)

    write_all("1\n")
    before = world.take(ROOMY)
    assert (before.count, before.skipped) == (len(NAMES) + 1, 0)
    write_all("2\n")
    after = world.take(ROOMY)
    found = world.room.changes(before, after)
    assert {one.path for one in found} == {folder + os.fsdecode(name) for name in NAMES}
    patch = world.patch(before, after)
    assert patch.count("-1\n+2\n") == (0 if folder else len(NAMES))
    assert patch.count(": ignored file, content not shown\n") == (len(NAMES) if folder else 0)
    assert world.take(ROOMY) == after


def test_names_that_no_index_takes_are_counted_as_left_out(world: World) -> None:
    world.write("a")
    world.write(".gitignore", "i/\n")
    for name in (".GIT/config", "x/.Git/y", "i/.GIT"):
        world.write(name)
    (world.root / ".gitmodules").symlink_to("a")
    taken = world.take()
    assert (taken.count, taken.skipped) == (2, 4)
    world.write("b")
    assert [one.path for one in world.room.changes(taken, world.take())] == ["b"]


def test_only_a_real_repository_inside_is_passed_over(world: World) -> None:
    """A `.git` that is none hides nothing from a snapshot."""
    world.write("none/.git/HEAD", "garbage\n")
    world.write("text/.git", "garbage\n")
    world.write("gone/.git", "gitdir: /nowhere\n")
    (world.root / "link").mkdir()
    (world.root / "link/.git").symlink_to("/etc")
    world.write("src/a")
    world.git("init", "-q", "real")
    world.git("init", "-q", "other")
    world.write("linked/.git", f"gitdir: {world.root}/other/.git\n")
    folders = ("none", "text", "gone", "link", "real", "linked")
    for folder in folders:
        world.write(f"{folder}/f")
    before = world.take()
    for folder in folders:
        world.write(f"{folder}/f", "two\n")
    world.git("init", "-q", "src")  # it was no repository before: its files are followed on
    world.write("src/a", "two\n")
    assert [one.path for one in world.room.changes(before, world.take())] == [
        "gone/f", "link/f", "none/f", "src/a", "text/f",
    ]  # fmt: skip


def test_nobodys_environment_and_settings_count(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    settings = tmp_path / "settings"
    settings.write_text(
        f"[core]\n\tfsmonitor = touch {ran}\n\thooksPath = {tmp_path}\n\tautocrlf = true\n"
        f'\texcludesFile = {tmp_path}/all\n[filter "lfs"]\n\tclean = touch {ran}\n'
        "\trequired = true\n[extensions]\n\tnonsense = 1\n"
    )
    (tmp_path / "all").write_text("*\n")
    world.git("init", "-q")
    shutil.copy(settings, world.root / ".git/config")
    (world.root / ".git/index.lock").touch()  # of the project's own, which is nobody's business
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", f"touch {ran}")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", f"touch {ran}")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "objects"))
    monkeypatch.setenv("GIT_TRACE", str(ran))
    world.write(".gitattributes", "* text=auto filter=lfs\n")
    world.write("a", "one\r\ntwo\r\n")
    before = world.take()
    world.write("a", "one\r\n2\r\n")
    after = world.take()
    assert world.room.changes(before, after) == [Change("a", "modified", None, 1, 1)]
    assert "-two\r\n+2\r\n" in world.patch(before, after)
    assert not ran.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all", "app", "data", "settings"]


def test_a_file_that_git_cannot_read_now_is_left_out_alone(tmp_path: Path) -> None:
    """It becomes a folder between the look and the read; all others are taken, also many."""
    world = world_in(tmp_path)
    for number in range(300):
        world.write(f"f{number}")
    world.write("log")
    world.write(".gitignore", "i\n")
    world.write("i")
    log = shlex.quote(str(world.root / "log"))
    moved = wrapped(
        world,
        tmp_path,
        f'case "$*" in *update-index*) [ -f {log} ] && rm {log} && mkdir {log};; esac',
    )
    first = moved.take(ROOMY)
    assert (first.count, first.skipped) == (302, 1)
    (world.root / "log").rmdir()
    world.write("log", "two\n")
    second = world.take(ROOMY)
    assert [(one.path, one.kind) for one in world.room.changes(first, second)] == [("log", "added")]


def test_git_that_breaks_once_costs_no_second_reading(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that shrinks under git's map of it ends it with SIGBUS."""
    world = world_in(tmp_path)
    world.write("a")
    before = world.take()
    (store,) = world.stores.glob("*.git")
    object_of_a = next(store.glob("objects/56/26ab*"))  # "one\n"
    written = object_of_a.stat().st_ctime_ns
    once = tmp_path / "once"
    once.touch()
    moved = wrapped(
        world, tmp_path, f'case "$*" in *status*) [ -f {once} ] && rm {once} && kill -BUS $$;; esac'
    )
    with caplog.at_level(logging.WARNING):
        assert moved.take() == before
    assert "is read again: git status: -7" in caplog.text
    assert object_of_a.stat().st_ctime_ns == written


def test_many_ignored_files_keep_nothing_else_from_the_diff(world: World) -> None:
    world.write(".gitignore", "i/\n")
    world.write("a")
    for number in range(501):
        world.write(f"i/{number}")
        world.write(f"was/{number}")
    before = world.take(ROOMY)
    for number in range(501):
        world.write(f"i/{number}", "two\n")
    world.write("a", "two\n")
    after = world.take(ROOMY)
    patch = world.patch(before, after)
    assert "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n+two\n" in patch
    assert patch.count(": ignored file, content not shown\n") == 501

    # These were taken before they were ignored: they stand in the same tree as the others.
    world.write(".gitignore", "i/\nwas/\n")
    for number in range(501):
        world.write(f"was/{number}", "secret\n")
    last = world.take(ROOMY)
    found = world.room.changes(after, last)
    assert [one.path for one in found if one.hidden is None] == [".gitignore"]
    assert len([one for one in found if one.hidden is Hidden.IGNORED]) == 501
    patch = world.patch(after, last)
    assert "secret" not in patch
    assert " i/\n+was/\n" in patch
    for number in range(501):
        world.write(f"new/{number}")
    patch = world.patch(after, world.take(ROOMY))
    assert patch.startswith("too many ignored files changed, content of the others not shown\n")


def test_a_git_that_hangs_is_ended_and_leaves_nothing(tmp_path: Path) -> None:
    """By the limit of a caller in a hurry, and by an interrupt."""
    world = world_in(tmp_path)
    world.write("a")
    before = world.take()
    world.write("a", "two\n")
    started, hang = tmp_path / "started", tmp_path / "hang"
    hang.touch()
    (store,) = world.stores.glob("*.git")
    lock = store.with_suffix(".index.lock")
    slow = wrapped(
        world,
        tmp_path,
        f'case "$*" in *update-index*) [ -f {hang} ] && touch {lock}'
        f" && ([ ! -p {started} ] || echo $$ > {started}) && exec sleep 600;; esac",
    )
    with pytest.raises(NotTaken, match="it takes too long"):
        slow.room.take(str(world.root), ROOMY, whole=False, limit_s=0.5)
    assert not lock.exists()

    os.mkfifo(started)
    cancel, pids = Cancel(), list[int]()

    def watch() -> None:
        pids.append(int(started.read_text()))
        cancel.cancel()

    watcher = threading.Thread(target=watch)
    watcher.start()
    with pytest.raises(Cancelled):
        slow.room.take(str(world.root), ROOMY, whole=False, cancel=cancel)
    watcher.join()
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)
    hang.unlink()
    assert [one.path for one in world.room.changes(before, slow.take(ROOMY))] == ["a"]
    assert not lock.exists()


def test_a_first_snapshot_that_was_too_slow_goes_on_where_it_was(tmp_path: Path) -> None:
    """Git is stopped at the second part of a project with many files."""
    world = world_in(tmp_path)
    for number in range(5002):
        (world.root / str(number)).touch()
    limits = Limits(max_file_bytes=10_000, max_files=6000, ignored=False)
    asked = tmp_path / "asked"
    stop = f'case "$*" in *update-index*) cat > {tmp_path}/given; tr -cd "\\0" < {tmp_path}/given |'
    stop += f" wc -c >> {asked}; [ $(wc -l < {asked}) = 2 ] && exec sleep 600;"
    stop += f' exec {shutil.which("git")} "$@" < {tmp_path}/given;; esac'
    slow = wrapped(world, tmp_path, stop)
    cancel = Cancel()

    def look() -> None:
        with closing(Inotify()) as written, selectors.DefaultSelector() as selector:
            written.watch(str(tmp_path))
            selector.register(written, selectors.EVENT_READ)
            ready.set()
            while not asked.exists() or asked.read_text().count("\n") < 2:
                selector.select(30)
                written.read()
        cancel.cancel()

    ready = threading.Event()
    looker = threading.Thread(target=look)
    looker.start()
    assert ready.wait(30)
    with pytest.raises(Cancelled):
        slow.room.take(str(world.root), limits, whole=False, cancel=cancel)
    looker.join()
    assert slow.take(limits).count == 5002
    assert asked.read_text().split() == ["5000", "2", "2"]
