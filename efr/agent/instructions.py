"""`AGENTS.md`: what a registered project tells every agent, as a block of the prompt message.

Each file from the project's root down to the user's directory, at most 32 KiB each with a line
that says what was cut; regular files alone, no links. The block is saved with its turn, so it is
sent again only when the conversation does not hold just this text yet: the first time, and after
one of the files changed. Outside registered projects no file is read. Blocks on the file system.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from efr.config.project_text import Project
from efr.policy.paths import holds, normal
from efr.providers.canonical import Message, TextBlock

NAME = "AGENTS.md"
_FILE_BYTES = 32 * 1024  # a file that is longer is no longer read by anybody
_MOST_FILES = 16  # directories between a root and a deep working directory
_HEAD, _END = "<project_instructions>", "</project_instructions>"
FRESH_HEAD = "<fresh-context>"  # what a compaction read anew holds them too


def instructions(project: Project | None, user_dir: str, past: Iterable[Message]) -> str | None:
    """The block for this turn's prompt; None: there is nothing to tell, or it was told."""
    if project is None:
        return None
    parts = [part for folder in _chain(project, user_dir) if (part := _read(folder / NAME))]
    if not parts:
        return None
    block = "\n".join((_HEAD, *parts, _END))
    return None if block == _newest(past) else block


def _newest(past: Iterable[Message]) -> str | None:
    """The block that the conversation holds already, in a prompt or in a fresh block."""
    newest = None
    for message in past:
        for block in message.content:
            if isinstance(block, TextBlock) and block.text.startswith((_HEAD, FRESH_HEAD)):
                newest = _block_in(block.text) or newest
    return newest


def _block_in(text: str) -> str | None:
    start, end = text.find(_HEAD), text.rfind(_END)
    return text[start : end + len(_END)] if 0 <= start < end else None


def _chain(project: Project, user_dir: str) -> Iterator[Path]:
    """The project's root and each directory down to the user's; the root alone when the user
    reached the project by another way (a link)."""
    root, directory = normal(project.root), normal(user_dir)
    yield Path(root)
    if not holds(root, directory):
        return
    below = PurePosixPath(directory).relative_to(root).parts
    for count in range(1, min(len(below), _MOST_FILES - 1) + 1):
        yield Path(root, *below[:count])


def _read(path: Path) -> str | None:
    """One file as a part of the block; None when there is none that may be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        data = file.read(_FILE_BYTES)
    text = data.decode("utf-8", "replace").strip()
    if not text:
        return None
    cut = facts.st_size - len(data)
    note = f"\n[{cut} bytes of this file are left out here]" if cut > 0 else ""
    return f"{path}:\n{text}{note}\n"
