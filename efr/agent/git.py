"""Runs git for what no file tells. The model can write a repository that is looked at here, so git
gets no hook, no monitor, no prompt and none of the variables that would lead it elsewhere.

Blocks for at most the limit; a git that hangs is killed. Source: git(1), "Environment variables".
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from efr.base.cancel import Cancel

log = logging.getLogger("efr.agent")

LIMIT_S: Final = 5.0  # a network mount may hang; a turn does not wait longer for its scope

_KILLED_S: Final = 1.0  # a killed process is gone at once where the kernel lets it go

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


class GitTooSlow(Exception):
    """Git did not come to an end within the limit."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"git took longer than {limit_s:g} s")
        self.limit_s = limit_s


class Git:
    """Git with efrd's environment, made safe. Any thread."""

    def __init__(self, env: Mapping[str, str], homes: tuple[str, ...], limit_s: float = LIMIT_S):
        """`homes`: the forms of home, the given one first."""
        self._env = environment(env, homes)
        self._limit_s = limit_s

    def branch(self, root: str) -> str | None:
        """The branch that a work tree is on; None when there is none or git does not tell."""
        try:
            done = self._ask(root, "symbolic-ref", "--quiet", "--short", "HEAD")
            if done is None or done.returncode != 0:
                return None
            return done.stdout.removesuffix(b"\n").decode() or None
        except (GitTooSlow, UnicodeDecodeError):
            return None

    def status(self, root: str, cancel: Cancel | None = None) -> list[str]:
        """The branch and the changed files of a work tree, one a line; none when git tells nothing.
        A cancel ends it at once. Raises GitTooSlow.

        It runs none of the tree's programs: filters of its configuration are emptied, submodules
        are not looked into, and nothing is fetched.
        """
        filters = ("config", "--null", "--name-only", "--get-regexp", _FILTERS)
        told = self._ask(root, *filters, cancel=cancel)
        if told is None or told.returncode not in (0, 1):  # 1: there is none
            return []
        names = told.stdout.decode(errors="surrogateescape").split("\0")
        emptied = [
            (f"{one}.{member}", value)
            for one in sorted({name.rpartition(".")[0] for name in names} - {""})
            for member, value in (("clean", ""), ("process", ""), ("required", "false"))
        ]
        settings = [*emptied, ("protocol.allow", "never")]
        done = self._ask(root, *_STATUS, settings=settings, cancel=cancel)
        if done is None or done.returncode != 0:
            return []
        return done.stdout.decode(errors="replace").splitlines()

    def _ask(
        self,
        directory: str,
        *arguments: str,
        settings: Sequence[tuple[str, str]] = (),
        cancel: Cancel | None = None,
    ) -> subprocess.CompletedProcess[bytes] | None:
        """One run of git; None when it could not start. `settings` win over its files.

        Raises GitTooSlow. A git that is stopped takes what it started with it.
        """
        given = {"GIT_CONFIG_COUNT": str(len(settings))} if settings else {}
        for number, (name, value) in enumerate(settings):
            given |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        try:
            process = subprocess.Popen(
                ["git", "-C", directory, *_HARDENED, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._env | given,
                cwd="/",
                process_group=0,
            )
        except (OSError, ValueError) as exc:
            log.debug("git told nothing about %s: %s", directory, exc)
            return None
        forget = (cancel or Cancel()).on_cancel(lambda: _stop(process))
        try:
            out, _ = process.communicate(timeout=self._limit_s)
        except subprocess.TimeoutExpired:
            log.debug("git told nothing about %s in time", directory)
            raise GitTooSlow(self._limit_s) from None
        finally:
            forget()
            _end(process)
        return subprocess.CompletedProcess(process.args, process.returncode, out)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Kills it with its children: it leads a group of its own."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Nothing is left of it, unless a dead mount holds it in the kernel."""
    _stop(process)
    if process.stdout is not None:
        process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_KILLED_S)


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
