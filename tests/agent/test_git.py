"""The status that a summary is given: git's own, without a program of the tree."""

from __future__ import annotations

import os
import select
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from efr.agent.git import Git, GitTooSlow
from efr.base.cancel import Cancel


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def git(root: Path, *arguments: str, check: bool = True) -> None:
    name = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    command = ["git", "-C", str(root), *name, *arguments]
    subprocess.run(command, check=check, capture_output=not check)


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


SLOW = "#!/bin/sh\nsleep 1000 &\necho $! > {pid}\nwait\n"


def slow_git(folder: Path, limit_s: float) -> Git:
    """A git that starts a program and waits for it."""
    (folder / "git").write_text(SLOW.format(pid=folder / "pid"))
    (folder / "git").chmod(0o755)
    return Git({"PATH": f"{folder}:/usr/bin:/bin"}, ("/home/u",), limit_s)


def assert_gone(pid: int) -> None:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    with os.fdopen(handle):
        assert select.select([handle], [], [], 20)[0]


def test_a_git_that_is_too_slow_says_so_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(GitTooSlow, match=r"0\.5 s"):
        slow_git(tmp_path, 0.5).status("/")
    started = tmp_path / "pid"
    if started.exists() and started.read_text():  # on a slow machine it may not have come so far
        assert_gone(int(started.read_text()))
    assert slow_git(tmp_path, 0.01).branch("/") is None


def test_a_cancel_ends_a_git_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = slow_git(tmp_path, 1000)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    os.mkfifo(tmp_path / "pid")
    cancel = Cancel()

    def when_it_runs() -> int:
        pid = int((tmp_path / "pid").read_text())
        cancel.cancel()
        return pid

    with ThreadPoolExecutor(1) as pool:
        pid = pool.submit(when_it_runs)
        assert git.status("/", cancel) == []
        assert_gone(pid.result(timeout=20))


def test_a_broken_repository_has_no_status_and_is_no_fault(tree: Path) -> None:
    for head in ("ref: ", "nonsense\n", "\0\0", ""):
        (tree / ".git" / "HEAD").write_text(head)
        assert status(tree) == []
    (tree / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / ".git" / "index").write_bytes(b"DIRC" + b"\xff" * 100)
    assert status(tree) == []
    (tree / ".git" / "index").unlink()
    (tree / ".git" / "config").write_text("[broken")
    assert status(tree) == []


def test_a_detached_head_and_a_rebase_have_a_status(tree: Path) -> None:
    git(tree, "checkout", "-q", "--detach")
    assert status(tree) == ["## HEAD (no branch)"]
    for branch, text in (("one", "a\n"), ("two", "b\n")):
        git(tree, "checkout", "-q", "-b", branch, "main")
        (tree / "a.txt").write_text(text)
        git(tree, "commit", "-q", "-a", "-m", text)
    git(tree, "rebase", "one", check=False)
    assert status(tree) == ["## HEAD (no branch)", "UU a.txt"]
