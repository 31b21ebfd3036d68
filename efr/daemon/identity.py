"""The daemon's id: a UUID made at its first start and kept in the data root.

Clients pin it, so a file that is not an id stops the start instead of being replaced.
"""

from __future__ import annotations

import re
from pathlib import Path

from efr.base.files import write_atomic
from efr.base.ids import Ids

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LIMIT = 64  # bytes read: an id has 36


class BadDaemonId(Exception):
    """The file holds something else than an id."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} does not hold a daemon id; phones know this daemon by it")
        self.path = path


def daemon_id(path: Path, ids: Ids) -> str:
    """The id in the file; made when there is no file. Raises BadDaemonId."""
    try:
        with path.open("rb") as file:
            text = file.read(_LIMIT).decode("ascii", "replace").strip()
    except FileNotFoundError:
        fresh = ids.new()
        write_atomic(path, f"{fresh}\n".encode())
        return fresh
    if _ID.fullmatch(text) is None:
        raise BadDaemonId(path)
    return text
