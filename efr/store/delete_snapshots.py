"""The snapshots of a deleted conversation: its refs in every store, and stores that were its own.

A store is a bare git repository `<root id>.git` with two files beside it. A ref belongs to the
conversation when the id is a part of its name, whatever stands before it (`refs/efr/`,
`refs/efr-mirror/`, `refs/efr-undo/`). A store without a ref of another conversation goes whole: it
is renamed first, so that a stop in between leaves no half repository. git runs without hooks and
without any configuration but the store's own.
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from efr.store.trees import remove_tree

log = logging.getLogger("efr.store")

_TIMEOUT_S: Final = 30.0
_PRUNE: Final = "--expire=1.hour.ago"  # a younger object may belong to a snapshot being taken
_REMOVED: Final = ".removed"
_IN_USE: Final = "efr-live"  # refs of trees in use: they belong to no conversation
_PLAIN: Final = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}


class Snapshots:
    """The stores below one folder. `path` is where git is looked for.

    `enter` is the gate of a store, by its name: nobody else works in it meanwhile.
    """

    def __init__(
        self,
        folder: Path,
        path: str,
        enter: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._folder = folder
        self._enter = enter
        self._env = {**_PLAIN, "PATH": path}

    def forget(self, conversation_id: str) -> list[Path]:
        """Removes what belongs to the conversation; returns the stores that could not be cleaned.
        Blocks on git."""
        left: list[Path] = []
        for rest in sorted(self._folder.glob(f"*.git{_REMOVED}")):
            left += remove_tree(rest)
        for store in sorted(self._folder.glob("*.git")):
            if store.is_symlink() or not store.is_dir():
                continue
            try:
                with self._enter(store.name):
                    left += self._forget_in(store, conversation_id)
            except (OSError, subprocess.SubprocessError) as exc:
                log.warning("the snapshots in %s were not cleaned: %s", store, exc)
                left.append(store)
        return left

    def _forget_in(self, store: Path, conversation_id: str) -> list[Path]:
        refs = self._git(store, "for-each-ref", "--format=%(refname)").split()
        own = [ref for ref in refs if conversation_id in ref.split("/")]
        if not own:
            return []
        others = [ref for ref in refs if ref not in own and _IN_USE not in ref.split("/")]
        if not others:
            return _remove_store(store)
        commands = "".join(f"delete {ref}\n" for ref in own)
        self._git(store, "update-ref", "--stdin", input=commands)
        self._git(store, "prune", _PRUNE)
        return []

    def _git(self, store: Path, *arguments: str, input: str = "") -> str:
        settings = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
        done = subprocess.run(
            ["git", *settings, *arguments],
            env=_with(self._env, GIT_DIR=str(store)),
            input=input,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
            cwd="/",
        )
        return done.stdout


def _with(env: Mapping[str, str], **more: str) -> dict[str, str]:
    return {**env, **more}


def _remove_store(store: Path) -> list[Path]:
    """The files beside it first: without them the repository still tells whose it was."""
    left = []
    for suffix in (".index", ".root"):
        left += remove_tree(store.with_suffix(suffix))
    removed = store.with_name(store.name + _REMOVED)
    left += remove_tree(removed)
    store.rename(removed)
    return left + remove_tree(removed)
