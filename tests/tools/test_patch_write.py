"""A patch that is interrupted or fails at any point leaves every one of its files as it was."""

from __future__ import annotations

import contextlib
import os
import resource
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from efr.base.cancel import Cancel
from efr.tools.apply_patch import ApplyPatchTool
from efr.tools.contract import ToolResult
from efr.tools.file_views import FileViews
from efr.tools.read_file import ReadFileTool
from tests.tools.fakes import context
from tests.tools.test_files import as_a_user
from tests.tools.test_races import swapping

PATCH = """\
*** Begin Patch
*** Update File: a.txt
@@
-one
+1
*** Add File: new/deep/b.txt
+new
*** Delete File: c.txt
*** Update File: d.sh
*** Move to: moved/d.sh
@@
-four
+4
*** Update File: e.txt
@@
-five
+5
*** End Patch
"""
CONTENT = {"a.txt": "one\n", "c.txt": "three\n", "d.sh": "four\n", "e.txt": "five\n"}
STOPPED = "The user stopped it. Nothing was changed."


class WatchedCancel(Cancel):
    """Does something at one of the looks at it: the moments between two writes."""

    def __init__(self, at: int, then: Callable[[WatchedCancel], object]) -> None:
        super().__init__()
        self.looks = 0
        self._at = at
        self._then = then

    @property
    def cancelled(self) -> bool:
        self.looks += 1
        if self.looks == self._at:
            self._then(self)
        return super().cancelled


def lay_out(root: Path) -> None:
    for name, text in CONTENT.items():
        (root / name).write_text(text)
        os.utime(root / name, ns=(5, 7))
    (root / "a.txt").chmod(0o600)
    (root / "d.sh").chmod(0o755)


Facts = dict[str, tuple[object, ...]]


def facts_of(root: Path) -> Facts:
    """Everything below: the very files, with content, mode, owner and time of change."""
    facts: Facts = {}
    for path in root.rglob("*"):
        found = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(found.st_mode) else b""
        time = found.st_mtime_ns if stat.S_ISREG(found.st_mode) else 0
        owner = (found.st_uid, found.st_gid)
        facts[str(path.relative_to(root))] = (content, found.st_ino, found.st_mode, owner, time)
    return facts


def run(root: Path, cancel: Cancel | None = None, patch: str = PATCH) -> ToolResult:
    ctx = replace(context(root), cancel=cancel or Cancel())
    return ApplyPatchTool().run(patch, ctx)


def looks(root: Path) -> int:
    """How often a whole run of the patch looks for an interrupt."""
    cancel = WatchedCancel(-1, lambda _: None)
    assert not run(root, cancel).is_error
    return cancel.looks


def test_an_interrupt_at_every_write_restores_every_file(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    lay_out(whole)
    total = looks(whole)
    assert total == 2 * 6  # each file is written beside its place, then put there; a move is two
    for at in range(1, total + 1):
        root = tmp_path / str(at)
        root.mkdir()
        lay_out(root)
        before = facts_of(root)
        result = run(root, WatchedCancel(at, lambda cancel: cancel.cancel()))
        assert result == ToolResult(STOPPED, is_error=True)
        assert facts_of(root) == before


def test_an_interrupt_after_the_last_write_is_too_late(tmp_path: Path) -> None:
    lay_out(tmp_path)
    assert not run(tmp_path).is_error
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {
        "a.txt", "new", "new/deep", "new/deep/b.txt", "moved", "moved/d.sh", "e.txt",
    }  # fmt: skip
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "moved/d.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "new/deep/b.txt").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o755


@contextlib.contextmanager
def largest_file(size_bytes: int) -> Iterator[None]:
    """A write beyond fails, as on a full disk (Python ignores SIGXFSZ)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("name", ["a.txt", "new/deep/b.txt", "moved/d.sh", "e.txt"])
def test_a_disk_that_is_full_at_any_file_changes_nothing(tmp_path: Path, name: str) -> None:
    lay_out(tmp_path)
    before = facts_of(tmp_path)
    added = {"a.txt": "+1\n", "new/deep/b.txt": "+new\n", "moved/d.sh": "+4\n", "e.txt": "+5\n"}
    patch = PATCH.replace(added[name], added[name] + "+" + "x" * 100_000 + "\n")
    with largest_file(50_000):
        result = run(tmp_path, patch=patch)
    assert result.output == f"{tmp_path}/{name}: File too large.\nNothing was changed."
    assert facts_of(tmp_path) == before


# -- somebody else writes meanwhile

STEPS = ["a.txt", "new/deep/b.txt", "c.txt", "moved/d.sh", "d.sh", "e.txt"]


def put_at(step: str) -> int:
    """The look before that file takes its place."""
    return len(STEPS) + STEPS.index(step) + 1


@pytest.mark.parametrize("name", ["a.txt", "c.txt", "d.sh", "e.txt"])
@pytest.mark.parametrize("how", ["content", "mode", "gone", "link", "directory"])
def test_a_file_that_changes_before_its_turn_stops_the_patch(
    tmp_path: Path, name: str, how: str
) -> None:
    lay_out(tmp_path)
    path = tmp_path / name

    def change(_: Cancel) -> None:
        if how == "content":
            path.write_text("the user's")
        elif how == "mode":
            path.chmod(0o640)
        else:
            path.unlink()
            if how == "link":
                path.symlink_to("elsewhere")
            elif how == "directory":
                path.mkdir()
        changed.update(facts_of(tmp_path))

    changed: Facts = {}
    result = run(tmp_path, WatchedCancel(put_at(name), change))
    assert result.is_error
    assert result.output.startswith(f"{tmp_path}/{name} changed while it was written.")
    after = facts_of(tmp_path)
    assert after.get(name) == changed.get(name)
    for other in set(CONTENT) - {name}:
        assert after[other][0] == CONTENT[other].encode()
    assert set(after) == set(CONTENT) - ({name} if how == "gone" else set())


def test_a_file_that_appears_where_one_is_added_is_kept(tmp_path: Path) -> None:
    lay_out(tmp_path)
    before = facts_of(tmp_path)
    theirs = tmp_path / "new/deep/b.txt"
    cancel = WatchedCancel(put_at("new/deep/b.txt"), lambda _: theirs.write_text("the user's"))
    result = run(tmp_path, cancel)
    assert "b.txt changed while it was written" in result.output
    assert "Not restored" not in result.output
    assert theirs.read_text() == "the user's"  # and its directories stay with it
    after = facts_of(tmp_path)
    assert {name: after[name] for name in CONTENT} == before
    assert set(after) - set(before) == {"new", "new/deep", "new/deep/b.txt"}


def test_a_written_file_that_somebody_changed_is_not_overwritten_again(tmp_path: Path) -> None:
    """The interrupt comes after the user has saved the new a.txt: nothing of either is lost."""
    lay_out(tmp_path)

    def save(cancel: WatchedCancel) -> None:
        (tmp_path / "a.txt").write_text("the user's")
        (tmp_path / "new/deep/b.txt").write_text("the user's too")
        cancel.cancel()

    result = run(tmp_path, WatchedCancel(put_at("c.txt"), save))
    kept = next(tmp_path.glob(".*.old.efr-tmp"))
    assert result.output == (
        f"{STOPPED}\nNot restored: {tmp_path}/new/deep/b.txt was changed by somebody else.\n"
        f"Not restored: {tmp_path}/a.txt was changed by somebody else; what it held before is in"
        f" {kept}."
    )
    assert (tmp_path / "a.txt").read_text() == "the user's"
    assert (tmp_path / "new/deep/b.txt").read_text() == "the user's too"
    assert kept.read_text() == "one\n"
    assert (tmp_path / "e.txt").read_text() == "five\n"


def test_a_written_file_that_somebody_deleted_comes_back(tmp_path: Path) -> None:
    lay_out(tmp_path)
    before = facts_of(tmp_path)

    def delete(cancel: WatchedCancel) -> None:
        (tmp_path / "a.txt").unlink()
        cancel.cancel()

    assert run(tmp_path, WatchedCancel(put_at("c.txt"), delete)).output == STOPPED
    assert facts_of(tmp_path) == before


def test_a_name_that_was_taken_again_is_not_overwritten(tmp_path: Path) -> None:
    lay_out(tmp_path)

    def make_again(cancel: WatchedCancel) -> None:
        (tmp_path / "c.txt").write_text("the user's")
        cancel.cancel()

    result = run(tmp_path, WatchedCancel(put_at("moved/d.sh"), make_again))
    kept = next(tmp_path.glob(".*.old.efr-tmp"))
    assert f"c.txt was changed by somebody else; what it held before is in {kept}." in result.output
    assert (tmp_path / "c.txt").read_text() == "the user's"
    assert kept.read_text() == "three\n"
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_a_directory_that_becomes_a_link_leads_nothing_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("one\n")
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)
    (root / "sub/a.txt").write_text("one\n")
    (root / "z.txt").write_text("last\n")

    def swap(_: Cancel) -> None:
        (root / "sub").rename(root / "real")
        (root / "sub").symlink_to(outside)

    patch = (
        "*** Begin Patch\n*** Update File: z.txt\n-last\n+end\n"
        "*** Update File: sub/a.txt\n-one\n+two\n*** End Patch\n"
    )
    result = run(root, WatchedCancel(4, swap), patch)
    assert result.output.startswith(f"{root}/sub/a.txt runs through a symbolic link.")
    assert "Not restored" not in result.output
    assert not [*tmp_path.rglob("*.efr-tmp")]
    assert [path.name for path in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == "one\n"
    assert (root / "real/a.txt").read_text() == "one\n"
    assert (root / "z.txt").read_text() == "last\n"


def test_a_directory_that_moves_away_is_put_back_in_order(tmp_path: Path) -> None:
    """The way back goes to the directory itself, wherever its name leads by then."""
    lay_out(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/x.txt").write_text("x\n")
    (tmp_path / "sub/y.txt").write_text("y\n")
    before = facts_of(tmp_path / "sub")
    patch = (
        "*** Begin Patch\n*** Update File: sub/x.txt\n-x\n+1\n*** Delete File: sub/y.txt\n"
        "*** Update File: a.txt\n-one\n+1\n*** End Patch\n"
    )

    def move(_: Cancel) -> None:
        (tmp_path / "sub").rename(tmp_path / "elsewhere")
        (tmp_path / "sub").mkdir()

    result = run(tmp_path, WatchedCancel(5, move), patch)
    assert result.output == (
        f"{tmp_path}/sub/y.txt changed while it was written. Nothing was written; read it again."
        "\nNothing was changed."
    )
    assert facts_of(tmp_path / "elsewhere") == before
    assert os.listdir(tmp_path / "sub") == []


def test_links_that_are_swapped_in_all_the_time_lead_nothing_outside(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "work/sub"
    outside.mkdir()
    inside.mkdir(parents=True)
    for folder in (outside, inside):
        (folder / "a.txt").write_text("0\n")
    applied = 0
    with swapping(inside, outside) as swaps:
        while applied < 5 or swaps() < 20:
            patch = (
                f"*** Begin Patch\n*** Update File: work/sub/a.txt\n-{applied}\n+{applied + 1}\n"
                f"*** Add File: work/sub/new{applied}/b.txt\n+b\n*** End Patch\n"
            )
            result = run(tmp_path, patch=patch)
            assert "Not restored" not in result.output
            applied += not result.is_error
    assert facts_of(outside).keys() == {"a.txt"}
    assert (outside / "a.txt").read_text() == "0\n"
    assert (inside / "a.txt").read_text() == f"{applied}\n"
    made = {f"new{number}" for number in range(applied)}
    assert {path.name for path in inside.iterdir()} == made | {"a.txt"}


def test_a_file_that_becomes_a_link_all_the_time_leads_nothing_outside(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    inside.mkdir()
    (outside / "secret").write_text("outside\n")
    (inside / "a.txt").write_text("inside\n")
    lines = ("inside", "changed")
    applied = 0
    with swapping(inside / "a.txt", outside / "secret") as swaps:
        while applied < 50 or swaps() < 50:
            old, new = lines[applied % 2], lines[(applied + 1) % 2]
            patch = f"*** Begin Patch\n*** Update File: work/a.txt\n-{old}\n+{new}\n*** End Patch"
            result = run(tmp_path, patch=patch)
            applied += not result.is_error
            if "its lines are not in the file" in result.output:  # swapped right at a rename
                applied += 1
    assert (outside / "secret").read_text() == "outside\n"
    assert os.listdir(outside) == ["secret"]
    assert set(os.listdir(inside)) <= {"a.txt", "a.txt.link"}


def test_a_read_only_file_is_neither_changed_nor_taken_away() -> None:
    with tempfile.TemporaryDirectory() as name, as_a_user(Path(name)):
        root = Path(name)
        lay_out(root)
        for file in ("a.txt", "c.txt", "d.sh"):
            (root / file).chmod(0o444)
            before = facts_of(root)
            assert run(root).output == (
                f"{root}/{file} is read-only. Nothing was written.\nNothing was changed."
            )
            assert facts_of(root) == before
            (root / file).chmod(0o644)


PROTECTED = Path("/proc/sys/fs/protected_hardlinks")


@pytest.mark.skipif(
    os.geteuid() != 0 or not PROTECTED.exists() or PROTECTED.read_text() != "1\n",
    reason="only root can make a file that gets no hard link",
)
def test_a_file_that_gets_no_hard_link_comes_back_by_its_name() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        lay_out(root)
        (root / "c.txt").chmod(0o4666)  # another user's setuid file: link() refuses it
        for other in ("a.txt", "d.sh", "e.txt"):
            os.chown(root / other, 65534, os.getegid())
        with as_a_user(root):
            before = facts_of(root)
            stop = WatchedCancel(put_at("moved/d.sh"), lambda cancel: cancel.cancel())
            assert run(root, stop).output == STOPPED
            assert facts_of(root) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's file")
def test_owners_and_groups_are_kept(tmp_path: Path) -> None:
    lay_out(tmp_path)
    os.chown(tmp_path / "a.txt", 12345, 54321)
    os.chown(tmp_path / "d.sh", 12345, 54321)
    assert not run(tmp_path).is_error
    for name in ("a.txt", "moved/d.sh"):
        found = (tmp_path / name).stat()
        assert (found.st_uid, found.st_gid) == (12345, 54321)


def test_what_was_interrupted_can_be_done_again(tmp_path: Path) -> None:
    lay_out(tmp_path)
    views = FileViews()
    ctx = context(tmp_path, views=views)
    ReadFileTool().run({"path": "a.txt"}, ctx)
    stop = WatchedCancel(put_at("e.txt"), lambda cancel: cancel.cancel())
    assert ApplyPatchTool().run(PATCH, replace(ctx, cancel=stop)).output == STOPPED
    assert not ApplyPatchTool().run(PATCH, ctx).is_error


def test_a_patch_that_the_user_stopped_before_it_began(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.cancel()
    assert (
        run(tmp_path, cancel, "*** Begin Patch\n*** Add File: a\n*** End Patch").output == STOPPED
    )
    assert os.listdir(tmp_path) == []
