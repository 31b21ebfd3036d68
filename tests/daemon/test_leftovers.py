"""What a killed efrd left is ended or put in order, and nothing else is."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from efr.agent.place import LookTimedOut
from efr.base.clock import SystemClock
from efr.base.roots import Root, Roots
from efr.daemon import leftovers
from efr.snapshots.git import Budget, Git, GitRun
from efr.tools.write_journal import WriteJournal

T = TypeVar("T")


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


def test_a_file_system_that_does_not_answer_keeps_no_start(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("")

    def late(what: str, fn: Callable[[], T]) -> T:
        raise LookTimedOut(what)

    journal = WriteJournal(tmp_path)
    assert leftovers.put_back(journal, "/", late) == {}
    journal.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"], "the next start looks again"
