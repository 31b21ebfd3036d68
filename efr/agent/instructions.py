"""`AGENTS.md`: what a registered project tells every agent, as a block of the prompt message.

Each file from the project's root down to the user's directory, at most 32 KiB each and a share of
the model's window, with a line that says what was cut; regular files below the root alone, and no
link out of it. The block is saved with its turn, so it holds only the files that the conversation
does not know just so yet: all of them the first time, and later what changed or is gone. Outside
registered projects no file is read. `read_files` blocks on the file system; the rest is pure.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct

from efr.config.project_text import Project
from efr.policy.paths import holds, normal
from efr.providers.canonical import Message, TextBlock
from efr.text.visible import visible_line, visible_text

NAME = "AGENTS.md"
FRESH_HEAD = "<fresh-context>"  # what a compaction read anew holds them too
_FILE_BYTES = 32 * 1024  # a file that is longer is no longer read by anybody
_MOST_FILES = 16  # directories between a root and a deep working directory
_SHARE = 3 / 4  # bytes per token of the window, all files together: 3/16 of the window
_HEAD, _END = "<project_instructions>", "</project_instructions>"
_FILE_END = "</file>"
_GONE = "[this file is gone]\n"
_NO_TEXT = "[this file holds no text in UTF-8]\n"
_SIGNS = (
    *('<file path="', _FILE_END, _END, FRESH_HEAD, "</fresh-context>"),
    *("<live_state>", "</live_state>", "</conversation-summary>"),
)
_DECODER = codecs.getincrementaldecoder("utf-8")  # a cut in a character takes all of it


class File(Struct, frozen=True):
    """One place where instructions may stand; `data` is None when there are none."""

    path: str
    data: bytes | None = None  # the first bytes
    size: int = 0


def read_files(project: Project, user_dir: str) -> tuple[File, ...]:
    """What stands from the project's root down to the user's directory, the root first."""
    root = os.path.realpath(project.root)
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ()
    found = []
    try:
        shown = PurePosixPath(normal(project.root))
        found.append(_read(shown, folder))
        for name in _below(root, user_dir):
            below = os.open(
                name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder
            )
            os.close(folder)
            folder, shown = below, shown / name
            found.append(_read(shown, folder))
    except OSError:
        pass  # the directory went away meanwhile: what is above it counts
    finally:
        os.close(folder)
    return tuple(found)


def _below(root: str, user_dir: str) -> tuple[str, ...]:
    """The directories from the root down to the user's, without links; none when the user is
    outside: a link in the project leads there."""
    directory = os.path.realpath(user_dir)
    if not holds(root, directory):
        return ()
    return PurePosixPath(directory).relative_to(root).parts[: _MOST_FILES - 1]


def _read(shown: PurePosixPath, folder: int) -> File:
    path = str(shown / NAME)
    try:
        handle = os.open(
            NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
        )
    except OSError:
        return File(path)
    with os.fdopen(handle, "rb", buffering=0) as file:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            return File(path)
        try:
            data = file.read(_FILE_BYTES)
        except OSError:
            return File(path)
    return File(path, data, facts.st_size)


def whole(files: Sequence[File], window: int) -> str | None:
    """The block of all files; None without one. `window`: of the model, in tokens."""
    return _block(part for _, part in _parts(files, window) if part is not None)


def news(files: Sequence[File], window: int, past: Iterable[Message]) -> str | None:
    """The block of what the conversation does not know just so; None: it knows everything."""
    blocks = [text for message in past for text in _blocks_of(message)]
    told = []
    for start, part in _parts(files, window):
        known = next((block for block in reversed(blocks) if start in block), None)
        now = part or f"{start}{_GONE}{_FILE_END}"
        if part is not None if known is None else now not in known:
            told.append(now)
    return _block(told)


def _blocks_of(message: Message) -> Iterator[str]:
    """What a message tells of instructions, in a prompt or in a fresh block."""
    for block in message.content:
        if isinstance(block, TextBlock) and block.text.startswith((_HEAD, FRESH_HEAD)):
            yield block.text


def _block(parts: Iterable[str]) -> str | None:
    lines = "\n".join(parts)
    return f"{_HEAD}\n{lines}\n{_END}" if lines else None


def _parts(files: Sequence[File], window: int) -> Iterator[tuple[str, str | None]]:
    """How the part of each file starts, and all of it; None: there is no text."""
    count = sum(one.data is not None for one in files)
    limit = min(_FILE_BYTES, int(window * _SHARE) // max(1, count))
    for one in files:
        start = f'<file path="{_inside(visible_line(one.path))}">\n'
        text = _text(one, limit)
        yield start, None if text is None else f"{start}{_inside(text)}{_FILE_END}"


def _text(file: File, limit_bytes: int) -> str | None:
    """The text of a file with its note, or why there is none."""
    if file.data is None:
        return None
    data = file.data[:limit_bytes]
    left = max(0, file.size - len(data))
    if b"\0" in data:
        return _NO_TEXT
    text = _DECODER("replace").decode(data, final=not left).removeprefix("\ufeff")
    text = visible_text(text).strip()
    if not text:
        return None
    note = f"[{left} bytes of this file are left out here]\n" if left else ""
    return f"{text}\n{note}"


def _inside(text: str) -> str:
    """No file and no name may look like the start of another file or the end of a block."""
    for sign in _SIGNS:
        text = text.replace(sign, f"<\u2215{sign[1:].lstrip('/')}")
    return text
