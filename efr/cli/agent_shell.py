"""Whether this command runs in the agent's hidden shell, whatever its own environment says.

A process's first environment stays readable in /proc (proc(5)), so unsetting the mark for one
command hides nothing. The daemon has the last word: it knows its shells and what descends from
them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Final

_MARKS: Final = ("EFR_HIDDEN_SHELL", "EFR_SANDBOX")
_MOST: Final = 100  # ancestors; a loop in what /proc says would never end


def in_agent_shell(env: Mapping[str, str]) -> bool:
    """By this process's environment, or by that of a process above it."""
    if any(env.get(mark) for mark in _MARKS):
        return True
    marks = tuple(f"{mark}=".encode() for mark in _MARKS)
    return any(
        variable.startswith(marks) and not variable.endswith(b"=")
        for environment in _environments()
        for variable in environment.split(b"\0")
    )


def _environments() -> Iterator[bytes]:
    """Of the processes above this one, as far as they may be read."""
    pid = os.getppid()
    for _ in range(_MOST):
        if pid <= 1:
            return
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                yield file.read()
            with open(f"/proc/{pid}/stat", "rb") as file:
                # The name, in parentheses, may hold anything (proc(5)); then state and parent.
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
