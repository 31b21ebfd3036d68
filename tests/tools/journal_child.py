"""Writes files and is killed before each single step on the file system, one child for each.

Run as a program with a folder: the tree `<kind>/N` is what a kill before step N left, and beside it
stands its journal. The last tree of each kind was not killed.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any, Final

from efr.tools.apply_patch import ApplyPatchTool
from efr.tools.contract import Tool
from efr.tools.edit import EditTool
from efr.tools.read_file import ReadFileTool
from efr.tools.write_file import WriteFileTool
from efr.tools.write_journal import WriteJournal
from tests.tools.fakes import context
from tests.tools.test_patch_write import PATCH, lay_out

INPUTS: Final[dict[str, Any]] = {
    "patch": PATCH,
    "again": PATCH,
    "write": {"path": "a.txt", "content": "1\n"},
    "add": {"path": "new.txt", "content": "1\n"},
    "edit": {"path": "a.txt", "old_string": "one", "new_string": "1"},
}
MIDDLE: Final = 9  # steps of a patch from the first file that takes its place
STEPS: Final = frozenset(
    ("open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.chmod")
)


def kill_at(step: int, first: str | None = None) -> None:
    """From here on, or from the first step of that name, the process dies before that step (Python,
    "Audit events table")."""
    left, counts = step, first is None

    def look(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left, counts
        counts = counts or event == first
        if counts and event in STEPS:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def run(root: Path, kind: str, step: int) -> None:
    ctx = context(root)
    journal = WriteJournal(root / "state")
    tools: dict[str, Tool] = {
        "patch": ApplyPatchTool(journal),
        "again": ApplyPatchTool(journal),
        "write": WriteFileTool(journal),
        "add": WriteFileTool(journal),
        "edit": EditTool(journal),
    }
    if kind in ("write", "add", "edit"):
        ReadFileTool().run({"path": "a.txt"}, ctx)
    kill_at(step, "os.link" if kind == "again" else None)
    result = tools[kind].run(INPUTS[kind], ctx)
    assert not result.is_error, result.output


def main(folder: Path) -> None:
    for kind in INPUTS:
        for step in count() if kind != "again" else range(MIDDLE):
            root = folder / kind / f"{step:03}"
            root.mkdir(parents=True)
            lay_out(root)
            child = os.fork()
            if child == 0:
                run(root, kind, step)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            if status == 0:
                break
            assert os.WTERMSIG(status) == signal.SIGKILL, status


if __name__ == "__main__":
    main(Path(sys.argv[1]))
