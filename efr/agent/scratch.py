"""`$SCRATCH`: the directory of a conversation for throwaway files.

`<scratch root>/<day>-<slug>-<tail>`: the day the conversation was made, up to five words of its
title, the last 8 hex digits of its id. A marker file holds the id, so a directory is never taken
over from another conversation and a delete finds the right one. Blocks on the file system.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

MARKER = ".efr-conversation"
_WORDS = 5
_SLUG_BYTES = 48  # with day and tail the name stays readable in a prompt
_LAST_NUMBER = 9


class NoScratch(Exception):
    """Every name is taken by something else, or the directory cannot be made."""

    def __init__(self, root: Path, why: str) -> None:
        super().__init__(f"{root}: {why}")
        self.root = root
        self.why = why


def slug_of(title: str) -> str:
    """Up to five words of the title in lowercase ASCII; "chat" when none is left."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain)[:_WORDS])
    return slug[:_SLUG_BYTES].rstrip("-") or "chat"


def names_of(conversation_id: str, title: str, created_us: int) -> Iterator[str]:
    """The names to try, in order."""
    day = datetime.fromtimestamp(created_us / 1_000_000, UTC).strftime("%Y-%m-%d")
    head = f"{day}-{slug_of(title)}"
    digits = conversation_id.replace("-", "")
    yield f"{head}-{digits[-8:]}"
    yield f"{head}-{digits[-12:]}"
    yield f"{head}-{digits}"
    for number in range(2, _LAST_NUMBER + 1):
        yield f"{head}-{digits}-{number}"


def ensure_scratch(root: Path, conversation_id: str, title: str, created_us: int) -> Path:
    """The conversation's directory, made (again) when missing. Raises NoScratch."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in names_of(conversation_id, title, created_us):
            if _claim(root / name, conversation_id):
                return root / name
    except OSError as exc:
        raise NoScratch(root, exc.strerror or str(exc)) from exc
    raise NoScratch(root, "every name is taken")


def _claim(path: Path, conversation_id: str) -> bool:
    """Whether the directory is ours: made now, or marked as ours earlier."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        return _is_ours(path, conversation_id)
    _mark(path, conversation_id)
    return True


def _is_ours(path: Path, conversation_id: str) -> bool:
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        return False  # never through a link
    try:
        handle = os.open(path / MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if any(path.iterdir()):
            return False
        _mark(path, conversation_id)  # a stop between mkdir and marker left it empty
        return True
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        return file.read(64).decode("ascii", "replace").strip() == conversation_id


def _mark(path: Path, conversation_id: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path / MARKER, flags, 0o600), "w") as file:
        file.write(conversation_id + "\n")
