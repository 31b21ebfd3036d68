"""Snapshots of real directories with real git."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from efr.base.cancel import Cancel, Cancelled
from efr.snapshots.choice import Limits
from efr.snapshots.compare import CutText
from efr.snapshots.errors import NotTaken
from efr.snapshots.room import AGAIN_S, Snapshots
from efr.snapshots.snapshot import Change, Hidden
from tests.snapshots.world import CONVERSATION, GIT, LIMITS, TURN, MovedClock, World

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def tree_of(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Every file below: content, mode and time."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes(),
            path.stat().st_mode,
            path.stat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_every_kind_of_change_is_named_counted_and_shown(world: World) -> None:
    world.git("init", "-q")
    world.write("a.txt", "one\ntwo\nthree\n")
    world.write("gone.txt", "x\n" * 9)
    world.write("sub/old name.txt", "".join(f"line {n}\n" for n in range(20)))
    world.write("logo.bin", b"\0\1\2")
    world.write(".gitattributes", "*.txt text eol=crlf -diff\n*.bin filter=evil diff=evil\n")
    world.git("add", ".")
    world.git("commit", "-qm", "x")
    repository = tree_of(world.root / ".git")
    before = world.take()

    world.write("a.txt", "one\n2\nthree\nfour\n")
    (world.root / "gone.txt").unlink()
    (world.root / "sub/old name.txt").rename(world.root / "sub/größe.txt")
    world.write("logo.bin", b"\0\1\3")
    world.write("new/crlf.txt", "a\r\nb\r\n")
    (world.root / "link").symlink_to("/etc")
    after = world.take()

    assert world.room.changes(before, after) == [
        Change("a.txt", "modified", None, 2, 1),
        Change("gone.txt", "deleted", None, 0, 9),
        Change("link", "added", None, 1, 0),
        Change("logo.bin", "modified", binary=True),
        Change("new/crlf.txt", "added", None, 2, 0),
        Change("sub/größe.txt", "renamed", "sub/old name.txt", 0, 0),
    ]
    assert after.count == 6
    patch = world.patch(before, after)
    assert "-two\n+2\n three\n+four\n" in patch
    assert "+a\r\n" in patch
    assert "rename to sub/größe.txt" in patch
    assert tree_of(world.root / ".git") == repository


def test_the_patch_turns_the_tree_before_into_the_tree_after(world: World, tmp_path: Path) -> None:
    world.write("a b.txt", "one\ntwo\n")
    world.write("run", "#!/bin/sh\n").chmod(0o644)
    world.write("gone", "x\n")
    before = world.take()
    shutil.copytree(world.root, tmp_path / "copy")
    world.write("a b.txt", "one\n2")
    (world.root / "run").chmod(0o755)
    (world.root / "gone").unlink()
    world.write("new/deep.txt", "\t1\n")
    patch = world.patch(before, world.take())

    world.root, root = tmp_path / "copy", world.root
    world.git("apply", "-", given=patch)

    assert {p: c[0] for p, c in tree_of(world.root).items()} == {
        p: c[0] for p, c in tree_of(root).items()
    }
    assert (world.root / "run").stat().st_mode & stat.S_IXUSR


def test_a_directory_that_has_its_own_snapshots_is_passed_over_in_the_diff(world: World) -> None:
    for path in ("a", "in ner/a", "in ner/large", "in nerd"):
        world.write(path)
    before = world.take()
    for path in ("a", "in ner/a", "in nerd"):
        world.write(path, "two\n")
    world.write("in ner/large", b"x" * 20_000)
    text = CutText(1000, 100_000)
    inner = [str(world.root / "in ner"), "/elsewhere"]
    world.room.write_patch(before, world.take(), "", text, but=inner)
    headers = [line for line in text.text().splitlines() if line.startswith("+++ ") or ":" in line]
    assert headers == ["+++ b/a", "+++ b/in nerd\t"]


def test_ignored_files_are_named_and_never_shown(world: World) -> None:
    world.write(".gitignore", ".env\nnode_modules\nbuild\n/data/\n*.log\n")
    world.write(".env", "KEY=secret-1\n")
    world.write("node_modules/x/index.js")
    world.write("data/deep/small.json", "{}\n")
    world.write("data/deep/large.json", b"x" * (1 << 20) + b"x")
    world.write("data/repo/.git/HEAD")
    world.write("data/repo/inside")
    world.write("was.txt", "secret-0\n")
    before = world.take()
    assert before.skipped == 1  # large.json

    world.write(".env", "KEY=secret-2\n")
    world.write("node_modules/x/index.js", "changed\n")
    world.write("data/deep/small.json", "{1}\n")
    world.write("data/repo/inside", "changed\n")
    world.write(".gitignore", ".env\nnode_modules\nbuild\n/data/\nwas.txt\n")
    world.write("was.txt", "secret-3\n")
    after = world.take()

    assert [(one.path, one.kind, one.hidden) for one in world.room.changes(before, after)] == [
        (".env", "modified", Hidden.IGNORED),
        (".gitignore", "modified", None),
        ("data/deep/small.json", "modified", Hidden.IGNORED),
        ("was.txt", "modified", Hidden.IGNORED),
    ]
    patch = world.patch(before, after, "$SCRATCH/")
    assert "secret" not in patch
    assert "$SCRATCH/.env: ignored file, content not shown\n" in patch
    assert "+++ b/$SCRATCH/.gitignore\n" in patch

    without = Limits(LIMITS.max_file_bytes, LIMITS.max_files, ignored=False)
    assert world.take(without).ignored is None
    assert world.take(whole=False).ignored is None


def test_a_file_over_the_limit_is_named_without_counts(world: World) -> None:
    log = world.write("log", "a\n")
    world.write("iso", b"x" * 10_001)
    before = world.take()
    assert (before.count, before.skipped) == (1, 1)

    log.write_bytes(b"b\n" * 10_000)
    with (world.root / "iso").open("ab") as file:
        file.truncate(2 << 30)  # it takes no room, and nobody may read it
    after = world.take()
    assert [(one.path, one.kind, one.hidden) for one in world.room.changes(before, after)] == [
        ("iso", "modified", Hidden.LARGE),
        ("log", "modified", Hidden.LARGE),
    ]
    assert world.patch(before, after) == (
        "iso: too large, content not shown\nlog: too large, content not shown\n"
    )

    log.write_text("c\n")
    (world.root / "iso").unlink()
    kinds = {one.path: one.kind for one in world.room.changes(after, world.take())}
    assert kinds == {"log": "modified", "iso": "deleted"}


def test_what_is_no_plain_file_is_left_out_and_nothing_in_the_tree_runs(
    world: World, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    world.git("init", "-q")
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.process", "diff.x.textconv"):
        world.git("config", name, f"touch {ran}; cat")
    world.write(".gitattributes", "* filter=x diff=x\n")
    world.write("a", "1\n")
    inner = world.root / "vendor"
    inner.mkdir()
    subprocess.run(["git", "init", "-q", inner], env=GIT, check=True)
    world.write("vendor/code")
    os.mkfifo(world.root / "pipe")
    before = world.take()
    assert (before.count, before.skipped) == (2, 1)

    world.write("a", "2\n")
    world.write("vendor/code", "changed\n")
    after = world.take()
    assert [one.path for one in world.room.changes(before, after)] == ["a"]
    assert "-1\n+2\n" in world.patch(before, after)
    (world.root / "a").unlink()
    os.mkfifo(world.root / "a")
    assert world.take().count == 1
    assert not ran.exists()


def test_a_directory_and_a_file_change_places(world: World) -> None:
    world.write("x/y", "1\n")
    world.write("z", "2\n")
    before = world.take()
    shutil.rmtree(world.root / "x")
    world.write("x", "now a file\n")
    (world.root / "z").unlink()
    world.write("z/w", "now a folder\n")
    (world.root / "deep").symlink_to("z")
    after = world.take()
    assert {one.path for one in world.room.changes(before, after)} == {
        "x",
        "x/y",
        "z",
        "z/w",
        "deep",
    }


def test_what_the_project_excludes_and_efrs_own_folders_are_left_alone(tmp_path: Path) -> None:
    """Home is the project: it holds the stores themselves."""
    root = tmp_path
    own = root / "da*ta"
    secret = [str(own), str(root / "private"), str(root / "folder/key")]
    room = Snapshots(own / "snapshots", GIT["PATH"], MovedClock(), lambda: secret, ".marker")
    subprocess.run(["git", "init", "-q", root], env=GIT, check=True)
    (root / ".git/info/exclude").write_text("mine\nfolder\n")
    (root / "folder").mkdir()
    for name in ("mine", "private", "folder/key", "a"):
        (root / name).write_text("1")
    (root / "data").write_text("1")
    first = room.take(str(root), LIMITS, whole=True)
    again = room.take(str(root), LIMITS, whole=True)
    assert again == first
    for name in ("mine", "private", "folder/key"):
        (root / name).write_text("2")
    (change,) = room.changes(first, room.take(str(root), LIMITS, whole=True))
    assert (change.path, change.hidden) == ("mine", Hidden.IGNORED)

    secret.append(str(root / "a"))
    (root / "a").write_text("2")
    assert room.take(str(root), LIMITS, whole=False).count == 1, "data alone is left"


def test_a_linked_work_tree_has_the_excludes_of_its_repository(
    world: World, tmp_path: Path
) -> None:
    world.write("a")
    world.git("init", "-q")
    world.git("add", ".")
    world.git("commit", "-qm", "x")
    (world.root / ".git/info/exclude").write_text("mine\n")
    world.git("worktree", "add", "-q", str(tmp_path / "linked"))
    world.root = tmp_path / "linked"
    before = world.take()
    world.write("mine")
    (change,) = world.room.changes(before, world.take())
    assert (change.path, change.hidden) == ("mine", Hidden.IGNORED)
    assert world.git("status", "--porcelain") == ""


def test_a_directory_with_too_many_files_is_left_alone_for_ten_minutes(world: World) -> None:
    for number in range(51):
        world.write(f"f{number}")
    with pytest.raises(NotTaken) as refused:
        world.take()
    assert refused.value.why == "more than 50 files"
    (world.root / "f0").unlink()
    with pytest.raises(NotTaken):
        world.take()  # not counted again yet

    world.clock.moved_s = AGAIN_S + 1
    assert world.take().count == 50
    world.write("f0")
    with pytest.raises(NotTaken):
        world.take()


def test_an_empty_directory_costs_no_store(world: World) -> None:
    world.write(".marker")
    before = world.take()
    assert before.is_empty
    assert not world.stores.exists()
    world.write("a")
    after = world.take()
    commit = world.room.keep(before, CONVERSATION, TURN, "pre")
    assert world.room.load(str(world.root), commit) == before
    assert [one.path for one in world.room.changes(before, after)] == ["a"]
    assert not world.take().is_empty


def test_a_kept_snapshot_is_read_again_and_says_what_it_left_out(world: World) -> None:
    world.write("a\nb", "1\n")
    world.write("large one", b"x" * 10_001)
    taken = world.take()
    commit = world.room.keep(taken, CONVERSATION, TURN, "post")
    again = Snapshots(world.stores, GIT["PATH"], world.clock, lambda: [], ".marker")
    loaded = again.load(str(world.root), commit)
    assert loaded is not None
    assert again.changes(taken, loaded) == []
    assert loaded.large.keys() == {"large one"}
    assert again.load(str(world.root), "0" * 40) is None
    ref = world.store() / "refs/efr" / CONVERSATION / TURN / "post"
    assert ref.read_text() == f"{commit}\n"


def test_a_store_is_used_again_after_any_fault(world: World) -> None:
    world.write("a")
    first = world.take()
    store = world.store()
    index = store.with_suffix(".index")
    index.with_name(index.name + ".lock").write_text("")  # of a git that was killed
    (store / "objects/pack/tmp_pack_x").write_text("half")
    (store / "tmp_pre").write_text("half")
    world.write("b")
    second = world.take()
    assert [one.path for one in world.room.changes(first, second)] == ["b"]
    assert not list(store.rglob("*tmp_*"))

    index.write_bytes(b"no index")
    world.write("c")
    assert [one.path for one in world.room.changes(second, world.take())] == ["c"]

    head = (store / "HEAD").read_text().strip()
    broken = store / "objects" / head[:2] / head[2:]
    broken.chmod(0o600)
    broken.write_bytes(b"")  # as a power loss leaves it
    world.write("c", "two\n")
    assert world.take().count == 3
    assert world.git("fsck", "--no-dangling", store=store) == ""

    shutil.rmtree(store)
    for rest in world.stores.iterdir():
        rest.unlink()
    assert world.take().count == 3
    assert world.take() == world.take()


def test_an_interrupt_ends_a_snapshot(world: World) -> None:
    world.write("a")
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(Cancelled):
        world.room.take(str(world.root), LIMITS, whole=True, cancel=cancel)
    assert world.take().count == 1


@pytest.mark.parametrize(
    ("break_it", "why"),
    [
        (lambda world: setattr(world.room, "_path", "/nowhere"), "git does not start"),
        (lambda world: shutil.rmtree(world.root), "No such file"),
    ],
)
def test_what_cannot_be_taken_says_why(
    world: World, break_it: Callable[[World], None], why: str
) -> None:
    world.write("a")
    break_it(world)
    with pytest.raises(NotTaken, match=why):
        world.take()


def test_a_long_diff_is_cut_between_lines_and_counts_the_rest() -> None:
    text = CutText(max_lines=3, max_bytes=100)
    for piece in (b"one\ntw", b"o\nthree\nfour\nfi", b"ve\n"):
        text.add(piece)
    assert text.text() == "one\ntwo\nthree\n... 2 more lines\n"
    short = CutText(max_lines=10, max_bytes=8)
    short.add(b"one\n" + b"x" * 50 + b"\nlast\n")
    assert short.text() == "one\n... 2 more lines\n"
    whole = CutText(max_lines=2, max_bytes=100)
    whole.add(b"one\ntwo\n")
    assert whole.text() == "one\ntwo\n"
