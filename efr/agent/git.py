"""Runs git for what no file tells. The model can write a repository that is looked at here, so git
gets no hook, no monitor, no prompt and none of the variables that would lead it elsewhere.

Blocks for at most the limit; a git that hangs is killed. Source: git(1), "Environment variables".
"""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Mapping, Sequence
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
_FILTERS: Final = r"^filter\..*\.(clean|process)$"
_STATUS: Final = (
    "status",
    "--short",
    "--branch",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=all",
)


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

    def status(self, root: str) -> list[str]:
        """The branch and the changed files of a work tree, one a line; none when git tells nothing.

        It runs none of the tree's programs: filters of its configuration are emptied, submodules
        are not looked into, and nothing is fetched.
        """
        told = self._ask(root, "config", "--null", "--name-only", "--get-regexp", _FILTERS)
        if told is None or told.returncode not in (0, 1):  # 1: there is none
            return []
        names = told.stdout.decode(errors="surrogateescape").split("\0")
        emptied = [
            (f"{one}.{member}", value)
            for one in sorted({name.rpartition(".")[0] for name in names} - {""})
            for member, value in (("clean", ""), ("process", ""), ("required", "false"))
        ]
        done = self._ask(root, *_STATUS, settings=[*emptied, ("protocol.allow", "never")])
        if done is None or done.returncode != 0:
            return []
        return done.stdout.decode(errors="replace").splitlines()

    def _run(self, directory: str, *arguments: str) -> bytes:
        """What git prints, without one final line end; nothing when it fails."""
        done = self._ask(directory, *arguments)
        if done is None or done.returncode != 0:
            return b""
        return done.stdout.removesuffix(b"\n")

    def _ask(
        self, directory: str, *arguments: str, settings: Sequence[tuple[str, str]] = ()
    ) -> subprocess.CompletedProcess[bytes] | None:
        """One run of git; None when it did not come to an end. `settings` win over its files."""
        given = {"GIT_CONFIG_COUNT": str(len(settings))} if settings else {}
        for number, (name, value) in enumerate(settings):
            given |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        try:
            return subprocess.run(
                ["git", "-C", directory, *_HARDENED, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._env | given,
                cwd="/",
                timeout=self._limit_s,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as exc:
            log.debug("git told nothing about %s: %s", directory, exc)
            return None


def environment(env: Mapping[str, str], homes: tuple[str, ...]) -> dict[str, str]:
    """The environment of every git run."""
    kept = {name: value for name, value in env.items() if name not in _TAKEN_OUT}
    ceilings = [one for one in (*homes, "/") if ":" not in one]
    return kept | {
        "HOME": homes[0],
        "GIT_CEILING_DIRECTORIES": ":".join(ceilings),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
    }
