"""What a killed efrd left: files of our own that are older than this start, and what its hidden
shells started.

Only names that efrd itself makes are looked at, and only in its own folders.
"""

from __future__ import annotations

import logging
from pathlib import Path

from efr.base.files import TEMPORARY_SUFFIX
from efr.base.roots import Roots
from efr.shell.strays import end_started_below
from efr.threads import listener

_log = logging.getLogger("efr.daemon")


def remove(roots: Roots, before_us: int) -> None:
    """Removes half-written files and half-bound sockets from before that time, and ends what
    nobody can reach any more."""
    if roots.daemon_json.exists():  # an efrd that stops in order removes it
        end_started_below(roots.zsh, 0)
    listener.remove_leftovers(roots.runtime.path, before_us)
    for folder in (roots.data.path, roots.state.path, roots.runtime.path, roots.secrets):
        for rest in folder.glob(f".*{TEMPORARY_SUFFIX}"):
            _remove(rest, before_us)


def _remove(path: Path, before_us: int) -> None:
    try:
        if path.lstat().st_mtime_ns // 1000 < before_us:
            path.unlink()
    except OSError as exc:
        _log.warning("%s is left: %s", path, exc.strerror)
