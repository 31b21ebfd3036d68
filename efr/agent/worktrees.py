"""What a registered project's `.git` file led to when it was registered.

A linked work tree and a submodule keep their repository elsewhere, and `.git` is a file that says
where. Who registers a project trusts that place, so efrd records it then: later the file may have
been changed by whoever may write the project. One small private file per project in the state
root. Blocks on the file system.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from msgspec import Struct

from efr.agent.repos import common_dir_of, pointed_to
from efr.base.files import make_private_dir, write_atomic
from efr.wire import codec
from efr.wire.errors import WireError

log = logging.getLogger("efr.agent")


class WorktreeRecord(Struct, frozen=True):
    """A project whose repository lies elsewhere. `common_dir`: that of its main work tree."""

    root: str
    git_dir: str
    common_dir: str


class Worktrees:
    """The records of one folder. Any thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def record(self, project_id: str, root: str) -> WorktreeRecord | None:
        """Looks where the root's `.git` file leads and keeps that; None when there is nothing to
        keep. A fault costs the record and a warning: such a project can be added again."""
        try:
            found = look(root)
            if found is not None:
                make_private_dir(self._folder)
                write_atomic(self._path(project_id), codec.encode(found))
        except OSError as exc:
            log.warning("where %s keeps its repository was not recorded: %s", root, exc)
            return None
        return found

    def of(self, project_id: str) -> WorktreeRecord | None:
        """What was recorded; None when nothing was, or it cannot be read."""
        try:
            return codec.decode(self._path(project_id).read_bytes(), WorktreeRecord)
        except FileNotFoundError:
            return None
        except (OSError, WireError) as exc:
            log.warning("the record of project %s cannot be read: %s", project_id, exc)
            return None

    def forget(self, project_id: str) -> None:
        """The project is registered no more."""
        try:
            self._path(project_id).unlink(missing_ok=True)
        except OSError as exc:
            log.warning("the record of project %s stays: %s", project_id, exc)

    def _path(self, project_id: str) -> Path:
        return self._folder / f"{project_id}.json"


def look(root: str) -> WorktreeRecord | None:
    """Where the root's `.git` file leads now; None when `.git` is no file. Raises OSError."""
    try:
        facts = os.lstat(os.path.join(root, ".git"))
    except FileNotFoundError:
        return None
    git_dir = pointed_to(root) if stat.S_ISREG(facts.st_mode) else None
    if git_dir is None:
        return None
    return WorktreeRecord(root, git_dir, common_dir_of(git_dir))
