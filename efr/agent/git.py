"""Runs git for what no file tells. The model can write a repository that is looked at here, so git
gets no hook, no monitor, no prompt and none of the variables that would lead it elsewhere.

Blocks for at most the limit; a git that hangs is killed. Source: git(1), "Environment variables".
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Mapping
from typing import Final

log = logging.getLogger("efr.agent")

LIMIT_S: Final = 5.0  # a network mount may hang; a turn does not wait longer for its scope

_TAKEN_OUT: Final = frozenset(
    (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_COMMON_DIR",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
        "GIT_CONFIG",
        "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT",
    )
)
_HARDENED: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class Git:
    """Git with efrd's environment, made safe. Any thread."""

    def __init__(self, env: Mapping[str, str], homes: tuple[str, ...], limit_s: float = LIMIT_S):
        """`homes`: the forms of home, the given one first."""
        self._env = environment(env, homes)
        self._limit_s = limit_s

    def branch(self, root: str) -> str | None:
        """The branch that a work tree is on; None when there is none or git does not tell."""
        out = self._run(root, "symbolic-ref", "--quiet", "--short", "HEAD")
        try:
            return out.decode() or None
        except UnicodeDecodeError:
            return None

    def _run(self, directory: str, *arguments: str) -> bytes:
        """What git prints, without one final line end; nothing when it fails."""
        command = ["git", "-C", directory, *_HARDENED, *arguments]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._env,
                cwd="/",
                timeout=self._limit_s,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as exc:
            log.debug("git told nothing about %s: %s", directory, exc)
            return b""
        return done.stdout.removesuffix(b"\n")


def environment(env: Mapping[str, str], homes: tuple[str, ...]) -> dict[str, str]:
    """The environment of every git run."""
    kept = {name: value for name, value in env.items() if name not in _TAKEN_OUT}
    ceilings = [one for one in (*homes, "/") if ":" not in one]
    return kept | {
        "HOME": homes[0],
        "GIT_CEILING_DIRECTORIES": ":".join(ceilings),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
