"""Writes git objects and refs that need no git: a commit, its tree, a small text.

The form is git's own loose one (gitformat-loose, gitformat-commit): zlib of `kind size NUL body`,
named by its SHA-1. Every write is a temporary file and a rename, so a stop leaves no half object.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

EMPTY_TREE: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the same in every repository
_AUTHOR: Final = "efr <efr@localhost>"
_TRIES: Final = 3  # git removes empty folders of refs beside us


def write_object(store: Path, kind: str, body: bytes) -> str:
    """Writes it unless it is there; returns its name. Raises OSError."""
    whole = f"{kind} {len(body)}".encode() + b"\0" + body
    name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    path = store / "objects" / name[:2] / name[2:]
    if path.exists():
        os.utime(path)  # a prune spares what is young
        return name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    _put(store, path, zlib.compress(whole, 1), 0o400)
    return name


def write_tree(store: Path, entries: Sequence[tuple[str, str, str]]) -> str:
    """A tree of (mode, name, object), in git's order. Raises OSError."""
    body = b"".join(
        f"{mode} {name}".encode() + b"\0" + bytes.fromhex(target) for mode, name, target in entries
    )
    return write_object(store, "tree", body)


def write_commit(store: Path, tree: str, message: str, at_us: int) -> str:
    """A commit without a parent. Raises OSError."""
    who = f"{_AUTHOR} {at_us // 1_000_000} +0000"
    text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\n{message}\n"
    return write_object(store, "commit", text.encode())


def write_ref(store: Path, ref: str, commit: str) -> None:
    """Points a ref at a commit. Raises OSError."""
    path = store / ref
    for attempt in range(_TRIES):
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _put(store, path, f"{commit}\n".encode(), 0o600)
        except FileNotFoundError:
            if attempt == _TRIES - 1:
                raise
        else:
            return


def write_head(store: Path, commit: str) -> None:
    """Makes a commit the one that `git status` compares with. Raises OSError."""
    _put(store, store / "HEAD", f"{commit}\n".encode(), 0o600)


def _put(store: Path, path: Path, content: bytes, mode: int) -> None:
    """The whole file or none. `tmp_` is git's own mark of what a stop left behind."""
    part = store / f"tmp_{path.name}"
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
        part.rename(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
