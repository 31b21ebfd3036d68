"""What a project's `.git` file led to when it was registered."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from efr.agent.worktrees import WorktreeRecord, Worktrees, look
from tests.agent.test_repos import committed, linked, submodule

PROJECT = "00000000-0000-7000-8000-00000000000a"


def test_a_linked_work_tree_is_recorded_with_both_folders(tmp_path: Path) -> None:
    root, _, main = linked(tmp_path / "p")
    records = Worktrees(tmp_path / "state" / "sandbox" / "projects")
    found = records.record(PROJECT, str(root))
    git = main / ".git"
    assert found == WorktreeRecord(str(root), str(git / "worktrees" / "linked"), str(git))
    file = tmp_path / "state" / "sandbox" / "projects" / f"{PROJECT}.json"
    assert json.loads(file.read_bytes()) == {
        "root": found.root,
        "git_dir": found.git_dir,
        "common_dir": found.common_dir,
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert records.of(PROJECT) == found
    records.forget(PROJECT)
    records.forget(PROJECT)
    assert records.of(PROJECT) is None


def test_a_submodule_keeps_its_repository_in_the_outer_one(tmp_path: Path) -> None:
    root = submodule(tmp_path / "p")[0]
    found = look(str(root))
    inside = tmp_path / "p" / "outer" / ".git" / "modules" / "vendor" / "lib"
    assert found == WorktreeRecord(str(root), str(inside), str(inside))


def test_a_plain_repository_and_none_at_all_have_no_record(tmp_path: Path) -> None:
    records = Worktrees(tmp_path / "records")
    assert records.record(PROJECT, str(committed(tmp_path / "tree"))) is None
    assert records.record(PROJECT, str(tmp_path)) is None
    (tmp_path / ".git").write_text("gitdir: /nothing\n")
    assert records.record(PROJECT, str(tmp_path)) is None
    assert not (tmp_path / "records").exists()


def test_a_record_that_cannot_be_kept_or_read_costs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = linked(tmp_path / "p")[0]
    (tmp_path / "records").write_text("a file, not a folder")
    assert Worktrees(tmp_path / "records").record(PROJECT, str(root)) is None
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / f"{PROJECT}.json").write_text("{")
    assert Worktrees(tmp_path / "broken").of(PROJECT) is None
    assert len(caplog.records) == 2
