"""The list that this terminal saw last: `<runtime root>/lists/<tty>`, one id a line.

A row number means a row of that list for an hour, also when a new conversation came in between.
A file that cannot be written or read costs only that: the list is asked for again.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path

from efr.base.files import make_private_dir, write_atomic
from efr.base.roots import runtime_root
from efr.cli.prompt import WHOLE_ID
from efr.cli.run import Run

KEPT_S = 3600  # longer than anybody looks at a list before choosing
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")


def keep(run: Run, tty: str | None, ids: Iterable[str]) -> None:
    """Remembers the rows of a list that was printed."""
    path = _file(run, tty)
    if path is None:
        return
    with contextlib.suppress(OSError):
        make_private_dir(path.parent)
        write_atomic(path, "".join(f"{one}\n" for one in ids).encode())


def recall(run: Run, tty: str | None) -> list[str] | None:
    """The ids of that list, or None without one of the last hour."""
    path = _file(run, tty)
    if path is None:
        return None
    try:
        age_s = run.clock.now_us() / 1_000_000 - path.stat().st_mtime
        ids = path.read_text("ascii").split()
    except (OSError, ValueError):
        return None
    fresh = 0 <= age_s <= KEPT_S
    return ids if fresh and all(re.fullmatch(WHOLE_ID, id) for id in ids) else None


def _file(run: Run, tty: str | None) -> Path | None:
    """The terminal's file; None for a name that is no plain file name."""
    name = (tty or "").removeprefix("/dev/").replace("/", "-")
    if not _PLAIN.fullmatch(name) or name in {".", ".."}:
        return None
    return runtime_root(run.env, os.getuid()).path / "lists" / name
