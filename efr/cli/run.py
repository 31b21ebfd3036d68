"""One run of the command: its arguments, its environment, its clock and streams. Light."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, NamedTuple

from efr.base.clock import Clock
from efr.base.ids import Ids


class Run(NamedTuple):
    """What every command gets. `args` holds only what was given."""

    args: Mapping[str, Any]
    env: MutableMapping[str, str]
    clock: Clock
    ids: Ids

    def say(self, text: str) -> None:
        """A line on stdout: an answer."""
        print(text)

    def note(self, text: str) -> None:
        """A line on stderr: a note or a warning."""
        print(text, file=sys.stderr)


def is_terminal(descriptor: int) -> bool:
    """Whether the descriptor is a terminal; a closed one is none."""
    try:
        return os.isatty(descriptor)
    except OSError:
        return False


def terminal_name(descriptor: int = 0) -> str:
    """The terminal's device, such as `/dev/pts/3`, or ""."""
    try:
        return os.ttyname(descriptor)
    except OSError:
        return ""


def may_exist(path: str | os.PathLike[str]) -> bool:
    """Whether something is there; also when nobody lets us look."""
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def directory(env: Mapping[str, str]) -> str:
    """The current directory as the user names it (`$PWD` when it is that directory)."""
    shown = env.get("PWD", "")
    try:
        if os.path.isabs(shown) and os.path.samefile(shown, "."):
            return shown
        return os.getcwd()
    except OSError:
        return shown or env.get("HOME", "") or "/"  # the directory is gone: the daemon decides
