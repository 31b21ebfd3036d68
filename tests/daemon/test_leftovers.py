"""What a killed efrd left is ended or put in order, and nothing else is."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from pathlib import Path

import pytest

from efr.agent.place import LookTimedOut
from efr.base.clock import SystemClock
from efr.base.roots import Root, Roots
from efr.daemon import leftovers
from efr.snapshots.git import Budget, Git, GitRun
from efr.tools import write_journal
from efr.tools.write_journal import WriteJournal


def ended(pid: int) -> bool:
    handle = os.pidfd_open(pid)
    try:
        return bool(select.select([handle], [], [], 0)[0])
    finally:
        os.close(handle)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_git_of_a_snapshot_is_ended_and_nobody_who_looks_there(tmp_path: Path) -> None:
    roots = Roots(*(Root(tmp_path / name, "test") for name in ("c", "data", "state", "run")))
    for root in roots:
        root.path.mkdir()
    store = roots.snapshots / "0123456789abcdef.git"
    store.mkdir(parents=True)
    hangs = tmp_path / "bin/git"
    hangs.parent.mkdir()
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o755)
    path = f"{hangs.parent}:{os.environ['PATH']}"
    git: GitRun = Git(store, store.with_suffix(".index"), None, path).start("status")
    user = subprocess.Popen(["sleep", "600"], env={**os.environ, "GIT_DIR": str(store)})
    try:
        leftovers.remove(roots, 0)
        assert not ended(git._process.pid), "efrd stopped in order"
        roots.daemon_json.touch()
        leftovers.remove(roots, 0)
        with pytest.raises(Exception, match="-9"):
            git.finish(Budget(SystemClock(), SystemClock().monotonic() + 30))
        assert not ended(user.pid)
    finally:
        user.kill()
        user.wait()
        git.stop()


def test_a_file_system_that_does_not_answer_keeps_no_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first entry was put in order, and that was not told: both stay for the next start."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text("")

    def hangs(path: Path) -> object:
        if path.stem == "b":
            raise LookTimedOut(path.stem)
        raise ValueError(path.stem)

    monkeypatch.setattr(write_journal, "_read", hangs)
    journal = WriteJournal(tmp_path)
    assert leftovers.put_back(journal, "/", lambda _, fn: fn()) == {}
    journal.clear()
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "b.json"}
