"""The status that a summary is given: git's own, without a program of the tree."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from efr.agent.git import Git


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def git(root: Path, *arguments: str) -> None:
    name = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", "-C", str(root), *name, *arguments], check=True)


def status(root: Path) -> list[str]:
    return Git({"PATH": "/usr/bin:/bin"}, (str(root.parent.parent),)).status(str(root))


def test_a_status_names_the_branch_and_what_changed(tree: Path) -> None:
    assert status(tree) == ["## main"]
    (tree / "a.txt").write_text("two\n")
    (tree / "new").write_text("")
    assert status(tree) == ["## main", " M a.txt", "?? new"]


def test_what_is_no_work_tree_has_no_status(tmp_path: Path) -> None:
    assert status(tmp_path) == []


def test_a_status_runs_no_program_of_the_tree(tree: Path) -> None:
    ran = tree.parent / "ran"
    program = tree.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o755)
    git(tree, "config", "filter.a.b=c.clean", str(program))
    git(tree, "config", "filter.p.process", str(program))
    git(tree, "config", "filter.p.required", "true")
    git(tree, "config", "core.fsmonitor", str(program))
    (tree / ".gitattributes").write_text("a.txt filter=a.b=c\nb.txt filter=p\n")
    (tree / "a.txt").write_text("six\n")  # as long as before: git has to read it
    (tree / "b.txt").write_text("b")
    assert status(tree) == ["## main", " M a.txt", "?? .gitattributes", "?? b.txt"]
    assert not ran.exists()
    git(tree, "status", "--short")
    assert ran.exists()  # and git by itself would have
