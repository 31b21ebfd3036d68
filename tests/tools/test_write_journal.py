"""A stop at any point of a write leaves every file old or new, and the next start says which."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from efr.tools.apply_patch import ApplyPatchTool
from efr.tools.write_journal import HALF, PUT_BACK, WRITTEN, WriteJournal
from tests.harness.daemon import ROOT
from tests.tools.fakes import context
from tests.tools.test_patch_write import CONTENT, PATCH, facts_of, lay_out

CALL = "019a0000-0000-7000-8000-000000000001"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trees as a kill left them, by kind and step."""
    folder = tmp_path_factory.mktemp("killed")
    subprocess.run(
        [sys.executable, "-m", "tests.tools.journal_child", str(folder)], cwd=ROOT, check=True
    )
    return folder


def contents(root: Path) -> dict[str, object]:
    """Names and contents, without the journal."""
    return {
        path: facts[0] for path, facts in facts_of(root).items() if not path.startswith("state")
    }


@pytest.mark.parametrize("kind", ["patch", "write", "add", "edit"])
def test_a_kill_at_every_step_is_put_in_order(killed: Path, tmp_path: Path, kind: str) -> None:
    lay_out(tmp_path)
    before = contents(tmp_path)
    *trees, whole = sorted((killed / kind).iterdir())
    after = contents(whole)
    assert after != before
    said = []
    for root in trees:
        journal = WriteJournal(root / "state")
        told = journal.recover(str(root)).get(CALL)
        assert journal.recover(str(root)).get(CALL) == told, "it can be done again"
        journal.clear()
        assert journal.recover(str(root)) == {}
        now = contents(root)
        assert now in (before, after)
        assert now == {PUT_BACK: before, WRITTEN: after, None: now}[told]
        if now == before:
            assert {(root / name).stat().st_mtime_ns for name in CONTENT} == {7}
        said.append(told)
    assert len(said) > (50 if kind == "patch" else 10)
    # Before the journal is there nothing is written; when it is gone, all is.
    first = said.index(PUT_BACK)
    assert said[:first] == [None] * first
    assert said[first:] == sorted(said[first:], key=[PUT_BACK, WRITTEN, None].index)
    assert WRITTEN in said
    assert contents(trees[first - 1]) == before


def test_what_somebody_changed_after_the_kill_is_left_and_told(killed: Path) -> None:
    root = next(
        tree
        for tree in sorted((killed / "again").iterdir())
        if (tree / "new/deep/b.txt").exists() and (tree / "e.txt").read_text() == "five\n"
    )
    (root / "a.txt").write_text("the user's")
    (root / "e.txt").write_text("the user's too")
    told = WriteJournal(root / "state").recover(str(root))[CALL]
    kept = root / f".{CALL}-0.old.efr-tmp"
    assert told == (
        f"{HALF}\nNot restored: {root}/a.txt was changed by somebody else; what it held before is"
        f" in {kept}."
    )
    assert kept.read_text() == "one\n"
    assert (root / "a.txt").read_text() == "the user's"
    assert (root / "e.txt").read_text() == "the user's too"
    assert not (root / "new").exists()


def test_a_folder_that_became_a_link_or_went_is_told_and_not_followed(killed: Path) -> None:
    half = [
        tree
        for tree in sorted((killed / "again").iterdir())
        if (tree / "new/deep/b.txt").exists() and (tree / "c.txt").exists()
    ]
    linked, gone = half[-2:]
    outside = linked / "outside"
    (linked / "new").rename(outside)
    (linked / "new").symlink_to(outside)
    told = WriteJournal(linked / "state").recover(str(linked))[CALL]
    assert told.startswith(f"{HALF}\nNot restored: {linked}/new/deep/b.txt runs through a symbolic")
    assert (outside / "deep/b.txt").read_text() == "new\n"
    assert (linked / "a.txt").read_text() == "one\n"

    shutil.rmtree(gone / "new")
    assert WriteJournal(gone / "state").recover(str(gone))[CALL] == PUT_BACK
    assert (gone / "a.txt").read_text() == "one\n"


def test_nothing_is_written_without_a_journal(tmp_path: Path) -> None:
    lay_out(tmp_path)
    before = facts_of(tmp_path)
    (tmp_path / "state").write_text("no folder")
    result = ApplyPatchTool(WriteJournal(tmp_path / "state")).run(PATCH, context(tmp_path))
    assert result.output == (
        "The write journal cannot be written (File exists), so nothing was written.\n"
        "Nothing was changed."
    )
    (tmp_path / "state").unlink()
    assert facts_of(tmp_path) == before


def test_a_damaged_journal_is_passed_over(tmp_path: Path) -> None:
    for number, text in enumerate(("x\n", '["nonsense", 1]\n', '["plans", [1]]\n', "[]\n", "")):
        (tmp_path / f"{number}.json").write_text(text)
    journal = WriteJournal(tmp_path)
    assert journal.recover(str(tmp_path)) == {"4": PUT_BACK}, "its call had not begun"
    journal.clear()
    assert list(tmp_path.iterdir()) == []


def test_a_whole_call_leaves_no_entry(tmp_path: Path) -> None:
    lay_out(tmp_path)
    journal = WriteJournal(tmp_path / "state")
    assert not ApplyPatchTool(journal).run(PATCH, context(tmp_path)).is_error
    assert ApplyPatchTool(journal).run(PATCH, context(tmp_path)).is_error
    assert os.listdir(tmp_path / "state") == []
