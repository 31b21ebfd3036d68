"""What makes git run programs is written only after a question, whatever its folder is called."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

from efr.agent.permission import _looked_up
from efr.agent.repos import in_repository, is_git_dir
from efr.policy.engine import decide
from efr.policy.needs import CallNeeds, PathUse, Place
from tests.agent.test_repos import committed, git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A bare repository in `.bare`, a `.git` file that points to it, and a work tree beside it."""
    source = committed(tmp_path / "source")
    root = tmp_path / "home" / "p"
    root.mkdir(parents=True)
    git(root, "clone", "-q", "--bare", str(source), ".bare")
    (root / ".git").write_text("gitdir: ./.bare\n")
    git(root, "worktree", "add", "-q", "main")
    return root


def write(path: Path | str, root: Path) -> str:
    place = Place(
        home=str(root.parent),
        home_real=os.path.realpath(root.parent),
        config_dir=f"{root.parent}/.config/efr",
        data_dir=f"{root.parent}/.local/share/efr",
        project_root=str(root),
    )
    call = CallNeeds("write_file", (PathUse(str(path), "write"),))
    return decide(_looked_up(call, place), "cautious", "shell", place).effect


def test_a_repository_of_another_name_is_written_only_after_a_question(project: Path) -> None:
    for name in ("config", "hooks/pre-commit", "info/attributes", "worktrees/main/config.worktree"):
        assert write(project / ".bare" / name, project) == "ask"
    assert write(project / ".bare", project) == "ask"
    assert write(project / ".git", project) == "ask"
    assert write(project / "main" / ".git", project) == "ask"
    for name in ("main/a.py", "config", "bare/config", ".bare2/hooks/x"):
        assert write(project / name, project) == "allow"


def test_a_link_into_it_and_a_folder_that_is_still_missing_count_too(project: Path) -> None:
    (project / "docs").symlink_to(".bare/hooks")
    assert write(project / "docs" / "pre-push", project) == "ask"
    assert write(project / "main" / ".." / ".bare" / "new" / "x", project) == "ask"


def test_no_files_make_a_repository_without_a_question(project: Path) -> None:
    """In whatever order they are written, git takes the folder for one only behind a question."""
    files = {
        "config": f"[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = touch {project}/ran\n",
        "objects/x": "",
        "refs/x": "",
        "HEAD": "ref: refs/heads/main\n",
    }
    for number, order in enumerate(itertools.permutations(files)):
        folder = project / f"x{number}"
        answers = []
        for name in order:
            answers.append(write(folder / name, project))
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(files[name])
        assert is_git_dir(str(folder))
        assert "ask" in answers
    assert write(project / "src" / "head", project) == "ask"  # the same on some file systems
    assert write(project / "src" / ".GIT", project) == "ask"
    assert write(project / "src" / "head.py", project) == "allow"


def test_what_has_no_shape_of_a_repository_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    assert not in_repository(str(folder / "config"))
    (folder / "HEAD").write_text("no ref\n")
    assert not in_repository(str(folder / "config"))
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    assert in_repository(str(folder / "config"))
    os.mkfifo(folder / "commondir")  # git would wait for it; a decision does not
    assert in_repository(str(folder / "config"))
    assert not in_repository("\0")
