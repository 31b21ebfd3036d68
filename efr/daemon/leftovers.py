"""What a killed efrd left: files of our own that are older than this start, what its hidden shells
started, and files of the user that a call was writing.

Only names that efrd itself makes are looked at: in its own folders, and where its write journal
says.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from efr.agent.place import Look, LookTimedOut
from efr.base.files import TEMPORARY_SUFFIX
from efr.base.roots import Roots
from efr.shell.strays import end_started_below
from efr.threads import listener
from efr.tools.write_journal import WriteJournal

_log = logging.getLogger("efr.daemon")


def remove(roots: Roots, before_us: int) -> None:
    """Removes half-written files and half-bound sockets from before that time, and ends what
    nobody can reach any more."""
    if roots.daemon_json.exists():  # an efrd that stops in order removes it
        end_started_below(roots.zsh, 0)
        # A git of a snapshot would go on beside ours. It alone has its home there; a user who looks
        # into a store may have named it in another variable.
        end_started_below(roots.snapshots, 0, "HOME")
    listener.remove_leftovers(roots.runtime.path, before_us)
    for folder in (roots.data.path, roots.state.path, roots.runtime.path, roots.secrets):
        for rest in folder.glob(f".*{TEMPORARY_SUFFIX}"):
            _remove(rest, before_us)


def put_back(journal: WriteJournal, home: str, look: Look) -> Mapping[str, str]:
    """Puts the files in order that a call was writing; what is known of such calls. Waits for a
    file system, but not for ever: what does not answer is left for the next start."""
    try:
        return look("the files of a call", lambda: journal.recover(home))
    except LookTimedOut:
        _log.warning("the files that a call was writing do not answer; the next start looks again")
        return {}


def _remove(path: Path, before_us: int) -> None:
    try:
        if path.lstat().st_mtime_ns // 1000 < before_us:
            path.unlink()
    except OSError as exc:
        _log.warning("%s is left: %s", path, exc.strerror)
