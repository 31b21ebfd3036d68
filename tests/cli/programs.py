"""`efr` as a process of its own: on a terminal, or with pipes."""

from __future__ import annotations

import subprocess
import sys
import termios
from collections.abc import Mapping
from pathlib import Path

from tests.harness.terminal import Terminal

ROOT = Path(__file__).parents[2]
EFR = (sys.executable, str(ROOT / "efr_cli.py"))


def environment(extra: Mapping[str, str]) -> dict[str, str]:
    """A terminal's environment without anything of the developer's own efr."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent-home",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "PYTHONWARNINGS": "error",
        **extra,
    }


def efr_on_terminal(
    *args: str, env: Mapping[str, str], columns: int = 80, rows: int = 24, cwd: str = "/"
) -> Terminal:
    """Starts `efr args…` on a fresh terminal."""
    return Terminal([*EFR, *args], environment(env), cwd, columns=columns, rows=rows)


def efr_in_pipe(*args: str, env: Mapping[str, str], cwd: str = "/") -> subprocess.Popen[str]:
    """Starts `efr args…` with pipes for its output and nothing on stdin."""
    return subprocess.Popen(
        [*EFR, *args],
        env=environment(env),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def echoes(terminal: Terminal) -> bool:
    """Whether the terminal is back in its usual mode: it echoes and edits lines."""
    flags = termios.tcgetattr(terminal._master)[3]
    return bool(flags & termios.ECHO and flags & termios.ICANON)
